//! A RESP client that blocks, as plain as can be.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "it is part of tests, which may wait and panic")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `+OK`.
    Simple(String),
    /// `-ERR …`.
    Error(String),
    /// `:1`.
    Integer(i64),
    /// `$5 hello`, as text.
    Bulk(String),
    /// There is none.
    Null,
    /// An array, or a map as its keys and values in turn.
    Array(Vec<Answer>),
    /// The connection ended.
    Closed,
}

impl Answer {
    /// The numbers of an array of integers.
    ///
    /// # Panics
    /// If it is anything else.
    pub fn integers(&self) -> Vec<i64> {
        let Answer::Array(elements) = self else { panic!("not an array: {self:?}") };
        let integer = |element: &Answer| match element {
            Answer::Integer(number) => *number,
            other => panic!("not an integer: {other:?}"),
        };
        elements.iter().map(integer).collect()
    }

    /// The text of an error; empty if it is none.
    pub fn error(&self) -> &str {
        if let Answer::Error(text) = self { text } else { "" }
    }
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    inbox: Vec<u8>,
}

impl Connection {
    /// Connects, and says nothing.
    ///
    /// # Panics
    /// If nobody listens there.
    pub fn open(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Connection { stream, inbox: Vec::new() }
    }

    /// Sends any bytes. A server that has hung up already is found out by the answer.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Sends bytes if the system takes all of them at once; false if it does not.
    ///
    /// # Panics
    /// If the stream cannot be asked.
    pub fn send_now(&mut self, bytes: &[u8]) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let is_sent = self.stream.write_all(bytes).is_ok();
        self.stream.set_nonblocking(false).unwrap();
        is_sent
    }

    /// Sends nothing more; what comes back can still be read.
    pub fn finish(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }

    /// The answer to a command whose words stand between spaces.
    pub fn ask(&mut self, words: &str) -> Answer {
        self.send(&command(&words.split(' ').collect::<Vec<_>>()));
        self.answer()
    }

    /// The next answer.
    ///
    /// # Panics
    /// If none comes in time, or one that is no RESP.
    pub fn answer(&mut self) -> Answer {
        loop {
            if let Some((answer, taken)) = read(&self.inbox) {
                self.inbox.drain(..taken);
                return answer;
            }
            let mut chunk = [0; 16 * 1_024];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Answer::Closed,
                Ok(len) => self.inbox.extend_from_slice(&chunk[..len]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Answer::Closed,
                Err(error) => panic!("no answer: {error}"),
            }
        }
    }
}

/// A command as an array of texts.
pub fn command(words: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// The first answer of `bytes` and its length, if all of it is there.
fn read(bytes: &[u8]) -> Option<(Answer, usize)> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let text = String::from_utf8_lossy(&bytes[1..end]).into_owned();
    let behind = end + 2;
    let number = || text.parse::<i64>().unwrap_or_else(|_| panic!("not a number: {text}"));
    match bytes[0] {
        b'+' => Some((Answer::Simple(text), behind)),
        b'-' => Some((Answer::Error(text), behind)),
        b':' => Some((Answer::Integer(number()), behind)),
        b'_' => Some((Answer::Null, behind)),
        b'$' if number() < 0 => Some((Answer::Null, behind)),
        b'$' => {
            let end = behind + number() as usize;
            let text = bytes.get(behind..end + 2)?;
            Some((Answer::Bulk(String::from_utf8_lossy(&text[..text.len() - 2]).into_owned()), end + 2))
        }
        b'*' if number() == -1 => Some((Answer::Null, behind)),
        b'*' => elements(bytes, behind, number()),
        b'%' => elements(bytes, behind, 2 * number()),
        other => panic!("no RESP: {other} {text}"),
    }
}

fn elements(bytes: &[u8], mut at: usize, count: i64) -> Option<(Answer, usize)> {
    let mut elements = Vec::new();
    for _ in 0..count {
        let (element, taken) = read(&bytes[at..])?;
        elements.push(element);
        at += taken;
    }
    Some((Answer::Array(elements), at))
}
