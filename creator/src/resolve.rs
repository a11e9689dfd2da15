//! Asks, without ever waiting for the answer, whether the advertised name resolves from this pod.

use std::{fmt, io, net::IpAddr};

use tokio::sync::oneshot;

use crate::host::Host;

/// A look-up that runs beside everything else.
///
/// The resolver's own call cannot be interrupted: end the runtime with `shutdown_background`, or a silent DNS server
/// holds the program for its time-out.
#[derive(Debug)]
pub struct Lookup {
    answer: Option<oneshot::Receiver<Resolution>>,
}

/// What the resolver said about a name.
#[derive(Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It has addresses that others can mean too.
    Resolved,
    /// It has only addresses that mean the asking machine itself.
    Loopback(String, Vec<IpAddr>),
    /// It has no address; the resolver's reason.
    Unresolved(String, String),
}

impl Lookup {
    /// Starts the look-up; an address needs none. Must be called within a tokio runtime.
    #[must_use]
    pub fn start(host: &Host) -> Self {
        let answer = host.name().map(|name| {
            let name = name.to_owned();
            let (sender, receiver) = oneshot::channel();
            tokio::spawn(async move {
                let found = tokio::net::lookup_host((name.as_str(), 0)).await;
                let addresses = found.map(|found| found.map(|address| address.ip()).collect());
                // Nobody may be waiting any more, and that is fine.
                let _ = sender.send(judge(&name, addresses));
            });
            receiver
        });
        Self { answer }
    }

    /// The answer, if it is there by now. Never waits; `None` also where there was nothing to look up.
    #[must_use]
    pub fn outcome(self) -> Option<Resolution> {
        self.answer?.try_recv().ok()
    }
}

fn judge(name: &str, found: io::Result<Vec<IpAddr>>) -> Resolution {
    match found {
        Ok(addresses) if addresses.is_empty() => Resolution::Unresolved(name.to_owned(), "no address".to_owned()),
        Ok(addresses) if addresses.iter().all(|address| address.to_canonical().is_loopback()) => {
            Resolution::Loopback(name.to_owned(), addresses)
        }
        Ok(_) => Resolution::Resolved,
        Err(error) => Resolution::Unresolved(name.to_owned(), error.to_string()),
    }
}

impl Resolution {
    /// What to warn of, if anything.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        (*self != Self::Resolved).then(|| self.to_string())
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolved => f.write_str("the name resolves"),
            Self::Loopback(name, addresses) => {
                let addresses = addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                write!(
                    f,
                    "the advertised name {name} resolves to {addresses} in this pod, which means the pod itself; \
                     --advertise host-ip needs no name"
                )
            }
            Self::Unresolved(name, reason) => write!(
                f,
                "the advertised name {name} does not resolve in this pod ({reason}), and so not in its peers; \
                 --advertise host-ip needs no name"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_names_that_others_cannot_use_give_a_warning() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        for (found, warning) in [
            (Ok(vec![ip("10.0.0.5")]), None),
            (Ok(vec![ip("127.0.1.1"), ip("10.0.0.5")]), None),
            (Ok(vec![ip("127.0.1.1"), ip("::1")]), Some("resolves to 127.0.1.1, ::1 in this pod")),
            (Ok(vec![]), Some("does not resolve in this pod (no address)")),
            (Err(io::Error::other("not known")), Some("does not resolve in this pod (not known)")),
        ] {
            let said = judge("node-1", found).warning();
            match warning {
                None => assert_eq!(said, None),
                Some(part) => {
                    let said = said.unwrap();
                    assert!(said.contains(part) && said.contains("--advertise host-ip"), "{said}");
                }
            }
        }
    }

    #[tokio::test]
    async fn an_address_is_not_looked_up() {
        assert_eq!(Lookup::start(&"10.0.0.5".parse().unwrap()).outcome(), None);
    }

    #[tokio::test]
    async fn asking_before_the_answer_is_there_does_not_wait() {
        // Nothing has run on this runtime's one thread yet, so the look-up cannot have ended.
        assert_eq!(Lookup::start(&"localhost".parse().unwrap()).outcome(), None);
    }

    #[tokio::test]
    async fn the_answer_is_given_once_it_is_there() {
        let mut lookup = Lookup::start(&"localhost".parse().unwrap());
        let answer = tokio::time::timeout(Duration::from_secs(20), lookup.answer.take().unwrap()).await;
        let resolution = answer.expect("the resolver is silent").unwrap();
        assert!(matches!(resolution, Resolution::Loopback(..)), "{resolution}");
        let (sender, receiver) = oneshot::channel();
        sender.send(Resolution::Resolved).unwrap();
        assert_eq!(Lookup { answer: Some(receiver) }.outcome(), Some(Resolution::Resolved));
    }
}
