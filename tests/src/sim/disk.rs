//! A disk whose plug can be pulled: what was not synced is gone, and who still writes to it is told so.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use redb::StorageBackend;

/// A disk that lies says the truth once in so many times.
const SYNCS_PER_TRUTH: u64 = 4;

/// A disk, which survives its node.
#[derive(Clone, Debug)]
pub(super) struct Disk(Arc<Mutex<Content>>);

#[derive(Debug, Default)]
struct Content {
    /// It says that it has synced, and has not, unless it is the fourth time.
    lies: bool,
    syncs: u64,
    current: Vec<u8>,
    synced: Vec<u8>,
    /// How often the plug was pulled.
    pulled: u64,
}

/// A disk as one run of a node has it.
#[derive(Debug)]
pub(super) struct Drive {
    disk: Disk,
    pulled: u64,
}

impl Disk {
    /// An empty disk, which may be one that lies about what it has synced.
    pub(super) fn new(lies: bool) -> Disk {
        Disk(Arc::new(Mutex::new(Content { lies, ..Content::default() })))
    }

    /// Everything is gone.
    pub(super) fn wipe(&self) {
        let mut content = self.content();
        *content = Content { lies: content.lies, pulled: content.pulled + 1, ..Content::default() };
    }

    /// The disk for a node that starts now.
    pub(super) fn drive(&self) -> Drive {
        Drive { disk: self.clone(), pulled: self.content().pulled }
    }

    /// Loses what was not synced, and serves nobody who began before.
    pub(super) fn pull_the_plug(&self) {
        let mut content = self.content();
        content.current = content.synced.clone();
        content.pulled += 1;
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().expect("one thread")
    }
}

impl Drive {
    fn content(&self) -> io::Result<MutexGuard<'_, Content>> {
        let content = self.disk.content();
        if content.pulled == self.pulled {
            return Ok(content);
        }
        Err(io::Error::new(io::ErrorKind::BrokenPipe, "the plug was pulled"))
    }
}

impl StorageBackend for Drive {
    fn len(&self) -> io::Result<u64> {
        Ok(self.content()?.current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).expect("a small disk");
        let content = self.content()?;
        match content.current.get(offset..offset + out.len()) {
            Some(bytes) => out.copy_from_slice(bytes),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.content()?.current.resize(usize::try_from(len).expect("a small disk"), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut content = self.content()?;
        content.syncs += 1;
        if !content.lies || content.syncs % SYNCS_PER_TRUTH == 0 {
            content.synced = content.current.clone();
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).expect("a small disk");
        self.content()?.current[offset..offset + data.len()].copy_from_slice(data);
        Ok(())
    }
}
