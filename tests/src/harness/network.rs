//! Networks other than the test process's own: that of one process, or a named one. A socket stays in the network where a
//! thread made it, so a short-lived thread is all it takes.

use std::{
    fs::{self, File},
    io,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    thread,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The network of a process: a file that names it.
#[must_use]
pub fn of_process(pid: u32) -> PathBuf {
    format!("/proc/{pid}/ns/net").into()
}

/// Acts in a network; an error as long as that is the machine's own.
///
/// # Errors
/// When the network cannot be entered, or from `act`.
pub fn inside<T: Send>(network: &Path, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let file = File::open(network)?;
    if is_own(&file)? {
        return Err(io::Error::other(format!("{} is still the machine's network", network.display())));
    }
    // It is the thread that moves, and it does not come back.
    let in_thread = move || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        act()
    };
    thread::scope(|scope| scope.spawn(in_thread).join().expect("neither setns nor a socket call panics"))
}

fn is_own(network: &File) -> io::Result<bool> {
    let (one, other) = (network.metadata()?, fs::metadata("/proc/self/ns/net")?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// Makes a port of the loopback of `network` reachable at the same port of the machine's own, from a thread of its own,
/// until the process ends.
///
/// # Errors
/// When the port is taken.
pub fn relay_from(network: PathBuf, port: u16) -> io::Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("relay".to_owned()).spawn(move || {
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("the runtime takes a listener");
            while let Ok((from, _)) = listener.accept().await {
                let network = network.clone();
                tokio::spawn(async move {
                    // Where either side is gone, the other is told by the end of its connection.
                    let connect = move || inside(&network, || TcpStream::connect(address));
                    if let Ok(Ok(to)) = tokio::task::spawn_blocking(connect).await {
                        let _ = copy(from, to).await;
                    }
                });
            }
        });
    })?;
    Ok(())
}

async fn copy(mut from: tokio::net::TcpStream, to: TcpStream) -> io::Result<()> {
    to.set_nonblocking(true)?;
    let mut to = tokio::net::TcpStream::from_std(to)?;
    from.set_nodelay(true)?;
    to.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut from, &mut to).await.map(drop)
}
