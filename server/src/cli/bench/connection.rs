//! One connection of the load: say a batch, wait for all of its answers, say the next.

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

    /// Asks what `feed` asks, batch by batch, until it has no more, and counts the answers.
    ///
    /// A decision's latency is the time from the moment its batch was handed to the kernel until the moment its bytes had
    /// been read.
    pub(super) async fn converse(
        &mut self,
        target: &Target,
        dialect: &Dialect,
        feed: &mut impl Feed,
        tally: &std::cell::RefCell<Tally>,
    ) -> Result<(), BenchError> {
        let mut batch = Vec::new();
        let mut now = Instant::now();
        loop {
            batch.clear();
            let mut waiting = feed.batch(now, &mut batch);
            if waiting == 0 {
                return Ok(());
            }
            let said = Instant::now();
            self.say(target, &batch).await?;
            while waiting > 0 {
                self.inbox.fill(&mut self.stream).await.map_err(|source| socket(target, source))?;
                now = Instant::now();
                waiting = self.count(target, dialect, waiting, now - said, &mut tally.borrow_mut())?;
            }
        }
    }

    /// Counts the answers that have arrived whole, and says how many are still to come.
    fn count(
        &mut self,
        target: &Target,
        dialect: &Dialect,
        waiting: usize,
        latency: std::time::Duration,
        tally: &mut Tally,
    ) -> Result<usize, BenchError> {
        let mut left = waiting;
        while let Some((answer, taken)) = (dialect.read)(self.inbox.bytes()).map_err(|what| refused(target, what))? {
            self.inbox.take(taken);
            if tally.count(answer) {
                left = left.checked_sub(1).ok_or_else(|| refused(target, Misunderstood("too many answers".into())))?;
            }
        }
        tally.waited(latency, waiting - left);
        Ok(left)
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

fn socket(target: &Target, source: std::io::Error) -> BenchError {
    BenchError::Socket { label: target.label.clone(), addr: target.addr, source }
}

fn refused(target: &Target, what: Misunderstood) -> BenchError {
    BenchError::Refused { label: target.label.clone(), addr: target.addr, reason: what.0.into_owned() }
}
