//! A network of a program's own, as a pod has one. There is only loopback in it; the test's process reaches into it.

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use super::network::{inside, of_process};

/// Brings its loopback up, without ip(8), which small images lack: sysfs shows the devices of the network it is mounted in.
/// $1: the run's folder. Then waits until [`serve`] has made the API reachable.
pub(super) const PREPARE: &str = r#"
mkdir "$1/sys"
mount -t sysfs sysfs "$1/sys"
echo 0x9 >"$1/sys/class/net/lo/flags"
umount "$1/sys"
until [ -e "$1/reachable" ]; do sleep 0.02; done
"#;

/// How long a process may take to have its network, on a busy machine.
const READY: Duration = Duration::from_secs(30);

/// How long to pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Makes the API, at this port of the machine's loopback, reachable at the same one in the network of a process. It ends
/// with the tokio runtime it is called in.
pub(super) fn serve(pid: u32, port: u16, folder: PathBuf) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    tokio::spawn(async move {
        let listener = tokio::task::spawn_blocking(move || listen(pid, address)).await.expect("it does not panic");
        let listener = listener.unwrap_or_else(|error| panic!("no network for process {pid}: {error}"));
        listener.set_nonblocking(true).expect("a socket can be made non-blocking");
        let listener = tokio::net::TcpListener::from_std(listener).expect("the runtime takes a listener");
        fs::write(folder.join("reachable"), "").expect("the run's folder takes another file");
        while let Ok((mut from, _)) = listener.accept().await {
            tokio::spawn(async move {
                // Where either side is gone, the other is told by the end of its connection.
                if let Ok(mut to) = tokio::net::TcpStream::connect(address).await {
                    let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
                }
            });
        }
    });
}

/// Waits until the process has its network, with loopback up, and listens there.
fn listen(pid: u32, address: SocketAddr) -> io::Result<TcpListener> {
    let started = Instant::now();
    loop {
        match inside(&of_process(pid), || TcpListener::bind(address)) {
            Err(_) if started.elapsed() < READY => thread::sleep(PAUSE),
            done => return done,
        }
    }
}

/// Connects to an address in the network of a process.
pub(super) fn connect(pid: u32, address: SocketAddr) -> io::Result<TcpStream> {
    inside(&of_process(pid), || TcpStream::connect(address))
}
