//! Plain HTTP and datagrams from a network of the machine, as a client there would see them.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket},
    path::Path,
    time::Duration,
};

use crate::harness::network;

/// Long enough for a node on a busy machine, short enough to see that nobody answers.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How somebody is asked who is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// By HTTP.
    Tcp,
    /// By a datagram.
    Udp,
}

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
    answer(network::inside(from, || ask(address, path)))
}

/// Asks once, from a network, who is there.
#[must_use]
pub(super) fn who(from: &Path, protocol: Protocol, address: SocketAddr) -> Answer {
    match protocol {
        Protocol::Tcp => get(from, address, "/"),
        Protocol::Udp => answer(network::inside(from, || exchange(address))),
    }
}

fn answer(result: io::Result<String>) -> Answer {
    match result {
        Ok(body) => Answer::Body(body),
        Err(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => Answer::Refused,
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Answer::Silence,
            _ => Answer::Failed(error.to_string()),
        },
    }
}

fn exchange(address: SocketAddr) -> io::Result<String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect(address)?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.send(b"who?")?;
    let mut name = [0; 256];
    let length = socket.recv(&mut name)?;
    Ok(String::from_utf8_lossy(&name[..length]).into_owned())
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
