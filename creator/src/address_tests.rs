use super::*;

fn facts() -> Facts {
    Facts {
        node_name: Some("Node-1".to_owned()),
        host_ips: Some(vec!["10.0.0.5".parse().unwrap(), "fd00::5".parse().unwrap()]),
        node_addresses: Some(vec![
            entry("InternalIP", "10.0.0.5"),
            entry("InternalIP", "fd00:0::5"),
            entry("ExternalIP", "203.0.113.9"),
            entry("Hostname", "NODE-1.example"),
            entry("Egress", "10.9.9.9"),
        ]),
        rendered: BTreeMap::from([
            ("{{NodeName}}.example".to_owned(), "node-1.example".to_owned()),
            ("empty".to_owned(), String::new()),
            ("port".to_owned(), "node-1:31234".to_owned()),
        ]),
    }
}

fn entry(kind: &str, address: &str) -> NodeAddress {
    NodeAddress { kind: kind.to_owned(), address: address.to_owned() }
}

fn choices(text: &str) -> Vec<Advertise> {
    text.split_terminator(',').map(|choice| choice.parse().unwrap()).collect()
}

fn host(text: &str) -> Host {
    text.parse().unwrap()
}

#[test]
fn the_first_choice_that_gives_an_address_is_taken() {
    for (list, family, expected) in [
        ("node-name", None, "node-1"),
        ("node-name", Some(IpFamily::V6), "node-1"),
        ("host-ip", None, "10.0.0.5"),
        ("host-ip", Some(IpFamily::V4), "10.0.0.5"),
        ("host-ip", Some(IpFamily::V6), "fd00::5"),
        ("InternalIP", Some(IpFamily::V6), "fd00::5"),
        ("ExternalIP", None, "203.0.113.9"),
        ("ExternalIP", Some(IpFamily::V6), "203.0.113.9"),
        ("Hostname", Some(IpFamily::V4), "node-1.example"),
        ("ExternalDNS,InternalDNS,ExternalIP,node-name", None, "203.0.113.9"),
        ("template:empty,template:port,host-ip", None, "10.0.0.5"),
        ("template:{{NodeName}}.example", None, "node-1.example"),
    ] {
        let found = advertised(&choices(list), family, &facts());
        assert_eq!(found, Ok(Advertised::Host(host(expected))), "{list}, {family:?}");
    }
}

#[test]
fn an_invalid_entry_is_passed_over_for_a_valid_one_of_the_same_type() {
    let facts = Facts {
        host_ips: Some(vec!["::".parse().unwrap(), "10.0.0.5".parse().unwrap()]),
        node_addresses: Some(vec![entry("InternalIP", "fe80::1%eth0"), entry("InternalIP", "10.0.0.6")]),
        ..Facts::default()
    };
    for (list, expected) in [("host-ip", "10.0.0.5"), ("InternalIP", "10.0.0.6")] {
        let found = advertised(&choices(list), Some(IpFamily::V6), &facts);
        assert_eq!(found, Ok(Advertised::Host(host(expected))), "{list}");
    }
}

#[test]
fn only_what_no_earlier_choice_makes_needless_is_asked_for() {
    let named = Facts { node_name: Some("node-1".to_owned()), ..Facts::default() };
    let unnamed = Facts { node_name: Some(String::new()), ..Facts::default() };
    let internal_only = Facts { node_addresses: Some(vec![entry("InternalIP", "10.0.0.5")]), ..Facts::default() };
    let rendered = |text: &str| Need::Rendered(text.to_owned());
    for (list, facts, expected) in [
        ("node-name,InternalIP", &named, Advertised::Host(host("node-1"))),
        ("InternalIP,node-name", &named, Advertised::Needs(Need::NodeAddresses)),
        ("node-name,InternalIP", &Facts::default(), Advertised::Needs(Need::NodeName)),
        ("node-name,host-ip,InternalIP", &unnamed, Advertised::Needs(Need::HostIps)),
        ("ExternalIP,host-ip", &internal_only, Advertised::Needs(Need::HostIps)),
        ("ExternalIP,template:x", &internal_only, Advertised::Needs(rendered("x"))),
    ] {
        assert_eq!(advertised(&choices(list), None, facts), Ok(expected), "{list}");
    }
}

#[test]
fn the_error_keeps_each_choices_reason() {
    let no_ips = Facts { host_ips: Some(vec![]), node_addresses: Some(vec![]), ..facts() };
    for (list, facts, message) in [
        ("", facts(), "no address to advertise: nothing is chosen; name another with --advertise"),
        (
            "template:port,template:empty,ExternalDNS",
            facts(),
            "no address to advertise: template:port: \"node-1:31234\" carries a port: give the host alone, the ports \
             are allocated; template:empty: it is empty; ExternalDNS: the Node has none of this type (it has InternalIP \
             10.0.0.5, InternalIP fd00:0::5, ExternalIP 203.0.113.9, Hostname NODE-1.example, Egress 10.9.9.9); name \
             another with --advertise",
        ),
        (
            "host-ip,InternalIP",
            no_ips,
            "no address to advertise: host-ip: the pod's status has no host IP; InternalIP: the Node has none of this \
             type (it has no addresses at all); name another with --advertise",
        ),
    ] {
        assert_eq!(advertised(&choices(list), None, &facts).unwrap_err().to_string(), message);
    }
}

#[test]
fn every_known_address_is_listed_once_the_advertised_one_first() {
    for (advertised, facts, expected) in [
        ("node-1", Facts::default(), vec!["node-1"]),
        ("node-1", facts(), vec!["node-1", "10.0.0.5", "fd00::5", "203.0.113.9", "node-1.example", "10.9.9.9"]),
        ("fd00::5", facts(), vec!["fd00::5", "10.0.0.5", "203.0.113.9", "node-1.example", "10.9.9.9"]),
    ] {
        let known: Vec<_> = known(&host(advertised), &facts).iter().map(ToString::to_string).collect();
        assert_eq!(known, expected);
    }
}

#[test]
fn an_address_that_may_not_answer_is_doubted() {
    let mapped = Facts { host_ips: Some(vec!["::ffff:10.0.0.5".parse().unwrap()]), ..Facts::default() };
    for (advertised, facts, doubted) in [
        ("10.0.0.5", facts(), None),
        ("fd00::5", facts(), None),
        ("10.0.0.5", mapped, None),
        ("203.0.113.9", Facts::default(), None),
        ("203.0.113.9", facts(), Some("203.0.113.9 is not the node's primary address (10.0.0.5, fd00::5)")),
        ("node-1", facts(), None),
        ("0123", facts(), Some("take the name 0123 for an old spelling")),
    ] {
        let said = doubt(&host(advertised), &facts).map(|doubt| doubt.to_string());
        match doubted {
            None => assert_eq!(said, None, "{advertised}"),
            Some(part) => assert!(said.as_ref().is_some_and(|said| said.contains(part)), "{advertised}: {said:?}"),
        }
    }
}

#[test]
fn an_address_of_a_family_that_the_service_lacks_is_doubted() {
    let doubt = |host: &str, families: &[&str]| {
        let families: Vec<_> = families.iter().map(ToString::to_string).collect();
        family_doubt(&host.parse().unwrap(), &families).is_some()
    };
    assert!(doubt("fd00::5", &["IPv4"]));
    assert!(doubt("10.0.0.5", &["IPv6"]));
    assert!(!doubt("fd00::5", &["IPv4", "IPv6"]));
    assert!(!doubt("10.0.0.5", &["IPv4"]));
    assert!(!doubt("10.0.0.5", &[]));
    assert!(!doubt("node-1", &["IPv6"]));
}
