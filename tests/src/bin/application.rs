//! What test pods run: an application that serves the file it got, and asks others when told to. It is the container that
//! holds a pod's network, too: there it is started without any of an application's variables, and just waits.
//!
//! PORTS: where to listen on all addresses, separated by commas (8558,55001, the documented ports, by default): for HTTP, and for
//! datagrams, each of which is answered like `GET /`.
//! FILE: what `GET /file` answers (/nodeport/nodeport.conf by default). `GET /`: the host's name, which is the pod's.
//! `GET /dial/HOST:PORT/PATH`: what `GET /PATH` answers there. `GET /resolve/NAME`: the addresses that the name has here, in
//! order, each in a line.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{IpAddr, Ipv6Addr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket},
    thread,
    time::Duration,
};

use tokio::signal::unix::{SignalKind, signal};

const TIMEOUT: Duration = Duration::from_secs(2);

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    // Kubernetes names its own Service in each container; a sandbox is none.
    if env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        for port in env::var("PORTS").as_deref().unwrap_or("8558,55001").split(',') {
            let port: u16 = port.parse().map_err(io::Error::other)?;
            let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))?;
            thread::spawn(move || serve(&listener));
            let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port))?;
            thread::spawn(move || echo(&socket));
        }
    }
    terminate.recv().await;
    Ok(())
}

fn serve(listener: &TcpListener) {
    for stream in listener.incoming().flatten() {
        thread::spawn(move || answer(stream));
    }
}

fn echo(socket: &UdpSocket) {
    loop {
        // What is reported here is that somebody before did not wait for the answer.
        let Ok((_, from)) = socket.recv_from(&mut []) else { continue };
        let _ = socket.send_to(host_name().as_bytes(), from);
    }
}

fn host_name() -> String {
    env::var("HOSTNAME").unwrap_or_default()
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = request.split_whitespace().nth(1).unwrap_or_default();
    let answer = if let Some((host, path)) = path.strip_prefix("/dial/").and_then(|to| to.split_once('/')) {
        dial(host, path)
    } else if let Some(name) = path.strip_prefix("/resolve/") {
        resolve(name)
    } else if path == "/file" {
        fs::read_to_string(env::var("FILE").as_deref().unwrap_or("/nodeport/nodeport.conf"))
    } else {
        Ok(host_name())
    };
    let (status, body) = match answer {
        Ok(body) => ("200 OK", body),
        Err(error) => ("502 Bad Gateway", error.to_string()),
    };
    write!(stream, "HTTP/1.0 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn resolve(name: &str) -> io::Result<String> {
    let addresses: BTreeSet<IpAddr> = (name, 0).to_socket_addrs()?.map(|address| address.ip()).collect();
    Ok(addresses.into_iter().map(|address| format!("{address}\n")).collect())
}

fn dial(host: &str, path: &str) -> io::Result<String> {
    let address = host.to_socket_addrs()?.next().ok_or_else(|| io::Error::other(format!("{host} has no address")))?;
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    write!(stream, "GET /{path} HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text.split_once("\r\n\r\n").map_or(text.clone(), |(_, body)| body.to_owned()))
}
