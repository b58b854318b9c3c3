//! One connection of the load.

use std::cell::RefCell;
use std::io;
use std::time::Instant;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::dialect::{Answer, Dialect, Misunderstood, Read};
use super::error::BenchError;
use super::feed::Feed;
use super::inbox::Inbox;
use super::tally::Tally;
use super::target::Target;

/// A connection whose greeting was accepted.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    inbox: Inbox,
}

impl Connection {
    /// Connects without saying anything.
    async fn connect(target: &Target) -> Result<Connection, BenchError> {
        let stream = TcpStream::connect(target.addr).await.map_err(|source| socket(target, source))?;
        stream.set_nodelay(true).map_err(|source| socket(target, source))?;
        Ok(Connection { stream, inbox: Inbox::default() })
    }

    /// Connects and greets.
    pub(super) async fn open(target: &Target, dialect: &Dialect) -> Result<Connection, BenchError> {
        let mut connection = Connection::connect(target).await?;
        connection.say(target, &dialect.greeting).await?;
        while connection.next(target, dialect.read).await? != Answer::Ready {}
        Ok(connection)
    }

    /// Connects, says `question` and hands over what `read` makes of the answer.
    pub(super) async fn ask_once<T>(
        target: &Target,
        question: &[u8],
        read: impl Fn(&[u8]) -> Read<T>,
    ) -> Result<T, BenchError> {
        let mut connection = Connection::connect(target).await?;
        connection.say(target, question).await?;
        connection.next(target, read).await
    }

    /// A closed loop: asks `pipeline` calls of what `feed` asks, waits for all of the answers, asks the next, until the
    /// feed has no more.
    ///
    /// A decision's latency is the time from the moment its batch was handed to the kernel until the moment its bytes had
    /// been read.
    pub(super) async fn converse(
        &mut self,
        (target, dialect): (&Target, &Dialect),
        feed: &mut impl Feed,
        pipeline: usize,
        tally: &RefCell<Tally>,
    ) -> Result<(), BenchError> {
        let mut batch = Vec::new();
        let mut now = Instant::now();
        loop {
            batch.clear();
            let calls = std::iter::from_fn(|| feed.next(now)).take(pipeline);
            let mut waiting = calls.map(|call| dialect.write(call, &mut batch)).count();
            if waiting == 0 {
                return Ok(());
            }
            let said = Instant::now();
            self.say(target, &batch).await?;
            while waiting > 0 {
                self.inbox.fill(&mut self.stream).await.map_err(|source| socket(target, source))?;
                now = Instant::now();
                let tally = &mut tally.borrow_mut();
                let answered = self.count(target, dialect, tally)?;
                waiting = waiting.checked_sub(answered).ok_or_else(|| unasked(target))?;
                tally.latency.note(now - said, answered);
            }
        }
    }

    /// Hands as much of `bytes` to the kernel as it takes now, and says how much that was.
    pub(super) fn say_now(&self, target: &Target, bytes: &[u8]) -> Result<usize, BenchError> {
        at_once(self.stream.try_write(bytes)).map_err(|source| socket(target, source))
    }

    /// Reads what has arrived, if there is anything; says whether there was.
    pub(super) fn hear_now(&mut self, target: &Target) -> Result<bool, BenchError> {
        let heard = self.inbox.fill_now(&self.stream).map_err(|source| socket(target, source));
        heard.map(|bytes| bytes > 0)
    }

    /// Counts the answers that have arrived whole, and says how many they are.
    pub(super) fn count(&mut self, target: &Target, dialect: &Dialect, tally: &mut Tally) -> Result<usize, BenchError> {
        let mut answered = 0;
        while let Some((answer, taken)) = (dialect.read)(self.inbox.bytes()).map_err(|what| refused(target, what))? {
            self.inbox.take(taken);
            answered += usize::from(tally.count(answer));
        }
        Ok(answered)
    }

    async fn say(&mut self, target: &Target, bytes: &[u8]) -> Result<(), BenchError> {
        self.stream.write_all(bytes).await.map_err(|source| socket(target, source))
    }

    /// Waits for one answer.
    async fn next<T>(&mut self, target: &Target, read: impl Fn(&[u8]) -> Read<T>) -> Result<T, BenchError> {
        loop {
            if let Some((answer, taken)) = read(self.inbox.bytes()).map_err(|what| refused(target, what))? {
                self.inbox.take(taken);
                return Ok(answer);
            }
            self.inbox.fill(&mut self.stream).await.map_err(|source| socket(target, source))?;
        }
    }
}

/// What would have to wait is nothing yet.
fn at_once(done: io::Result<usize>) -> io::Result<usize> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        done => done,
    }
}

fn socket(target: &Target, source: io::Error) -> BenchError {
    BenchError::Socket { label: target.label.clone(), addr: target.addr, source }
}

fn refused(target: &Target, what: Misunderstood) -> BenchError {
    BenchError::Refused { label: target.label.clone(), addr: target.addr, reason: what.0.into_owned() }
}

/// More answers than calls.
pub(super) fn unasked(target: &Target) -> BenchError {
    refused(target, Misunderstood("too many answers".into()))
}
