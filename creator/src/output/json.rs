//! The `.json` file, and the values that a user's own template file sees.

use std::collections::BTreeMap;

use serde::Serialize;

use super::allocation::Allocation;
use crate::{host::Host, pod::PodIdentity};

/// The keys in the documented order.
#[derive(Serialize)]
struct Document<'a> {
    host: &'a Host,
    ports: BTreeMap<&'a str, u16>,
    addresses: &'a [Host],
    pod: &'a PodIdentity,
    node: Option<&'a str>,
    service: &'a str,
}

fn document(allocation: &Allocation) -> Document<'_> {
    Document {
        host: &allocation.host,
        ports: allocation.ports.iter().map(|port| (port.key(), port.node_port.get())).collect(),
        addresses: &allocation.addresses,
        pod: &allocation.pod,
        node: allocation.node.as_deref(),
        service: &allocation.service,
    }
}

/// The file's text: `{host, ports: {name: number}, addresses, pod: {name, namespace, uid}, node, service}`, indented.
///
/// The only port of a Service may have no name; its key is `port`. A node that is not known is `null`.
#[must_use]
#[expect(clippy::expect_used, reason = "it has text keys and plain values only")]
pub fn render(allocation: &Allocation) -> String {
    serde_json::to_string_pretty(&document(allocation)).expect("text and numbers always make JSON") + "\n"
}

/// The values of a user's own template file: the same as the JSON file's.
#[must_use]
#[expect(clippy::expect_used, reason = "it has text keys and plain values only")]
pub fn context(allocation: &Allocation) -> serde_json::Value {
    serde_json::to_value(document(allocation)).expect("text and numbers always make JSON")
}

#[cfg(test)]
mod tests {
    use super::{
        super::allocation::tests::{documented, port},
        *,
    };

    #[test]
    fn the_file_is_this_byte_for_byte() {
        assert_eq!(render(&documented()), include_str!("golden/documented.json"));
    }

    #[test]
    fn any_value_is_data() {
        let mut allocation = documented();
        allocation.pod.name = "a\"b\n}".to_owned();
        allocation.node = None;
        allocation.ports = vec![port("", 31234, 80)];
        let read: serde_json::Value = serde_json::from_str(&render(&allocation)).unwrap();
        assert_eq!(read["pod"]["name"], "a\"b\n}");
        assert_eq!(read["node"], serde_json::Value::Null);
        assert_eq!(read["ports"], serde_json::json!({"port": 31234}));
    }

    #[test]
    fn a_template_sees_what_the_file_says() {
        let read: serde_json::Value = serde_json::from_str(&render(&documented())).unwrap();
        assert_eq!(context(&documented()), read);
    }
}
