//! Plain HTTP from a network of the machine, as a client there would see it.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    time::Duration,
};

use crate::harness::network;

/// Long enough for a node on a busy machine, short enough to see that nobody answers.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The body.
    Body(String),
    /// The port is closed.
    Refused,
    /// Nobody answers.
    Silence,
    /// Something else went wrong.
    Failed(String),
}

impl Answer {
    /// The body, where there is one.
    ///
    /// # Errors
    /// Says what became of the request otherwise.
    pub fn body(self) -> Result<String, String> {
        match self {
            Self::Body(body) => Ok(body),
            other => Err(format!("{other:?}")),
        }
    }
}

/// Asks once, from a network.
#[must_use]
pub fn get(from: &Path, address: SocketAddr, path: &str) -> Answer {
    match network::inside(from, || ask(address, path)) {
        Ok(body) => Answer::Body(body),
        Err(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => Answer::Refused,
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Answer::Silence,
            _ => Answer::Failed(error.to_string()),
        },
    }
}

fn ask(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    match text.split_once("\r\n\r\n") {
        Some((head, body)) if head.contains(" 200 ") => Ok(body.to_owned()),
        _ => Err(io::Error::other(format!("{address} answers {text:?}"))),
    }
}
