//! Behaviour 5: what becomes of each text that the annotation can have.

use proptest::prelude::*;

use super::*;

/// The attachments, as `NETWORK INTERFACE ADDRESS,ADDRESS`; the cluster's own network is `-`.
fn read(text: &str) -> (Vec<String>, Option<String>) {
    let NetworkStatus { attachments, problems } = parse(text);
    let attachments = attachments.iter().map(|Attachment { network, interface, addresses }| {
        let network = match network {
            Network::Default => "-".to_owned(),
            Network::Attached(Reference { namespace: Some(namespace), name }) => format!("{namespace}/{name}"),
            Network::Attached(Reference { namespace: None, name }) => name.to_string(),
        };
        let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        format!("{network} {interface} {}", addresses.join(",")).trim_end().to_owned()
    });
    (attachments.collect(), problems.map(Into::into))
}

#[test]
fn behaviour_5_each_form_of_the_annotation_is_read() {
    // As Multus 4.2.2 wrote it, but for the default network's MAC address.
    let multus = r#"[{
        "name": "pods", "interface": "eth0", "ips": ["10.244.1.5"], "mac": "6e:55:1e:2d:41:9f", "default": true, "dns": {},
        "gateway": ["<nil>"]
    },{
        "name": "default/core", "interface": "net1", "ips": ["10.50.0.4"], "mac": "2a:5c:bf:4a:1b:7d", "dns": {}
    },{
        "name": "default/access", "interface": "net2", "ips": ["10.51.0.4"], "dns": {}, "device-info": {"type": "pci"}
    }]"#;
    for (text, expected) in [
        (multus, &["- eth0 10.244.1.5", "default/core net1 10.50.0.4", "default/access net2 10.51.0.4"][..]),
        (r#"[{"name":"core","ips":["10.50.0.4"]}]"#, &["core  10.50.0.4"]),
        (r#"[{"name":"","interface":"eth0","ips":["10.244.1.5"],"default":true}]"#, &["- eth0 10.244.1.5"]),
        (r#"[{"interface":"eth0","ips":["10.244.1.5"]},{"name":null}]"#, &["- eth0 10.244.1.5", "-"]),
        // The cluster's own network can have a definition, with the annotation v1.multus-cni.io/default-network.
        (r#"[{"name":"a/core","ips":["10.50.0.4"],"default":true}]"#, &["a/core  10.50.0.4"]),
        (r#"[{"name":"core","ips":["10.50.0.4"],"default":true}]"#, &["-  10.50.0.4"]),
        (
            r#"[{"name":"core","ips":["10.50.0.4/24","fd00::4/64","10.50.0.5"," fd00::5 ","10.50.0.4"]}]"#,
            &["core  10.50.0.4,fd00::4,10.50.0.5,fd00::5"],
        ),
        (r#"[{"name":"core"},{"name":"core","ips":null},{"name":"core","ips":[]}]"#, &["core", "core", "core"]),
        (r#"[{"name":"a","interface":null,"mtu":1500,"x":{"y":[[]]}},{"name":"a","interface":7}]"#, &["a", "a"]),
        (r#"[{"name":"a","interface":"net1"},{"name":"a","interface":"net2"}]"#, &["a net1", "a net2"]),
        ("", &[]),
        (" \n", &[]),
        ("[]", &[]),
        ("null", &[]),
    ] {
        let expected = expected.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
        assert_eq!(read(text), (expected, None), "{text}");
    }
}

#[test]
fn behaviour_5_what_cannot_be_read_is_told_and_hides_nothing_else() {
    for (text, expected, problem) in [
        ("{", &[][..], "is no JSON: EOF while parsing an object at line 1 column 1"),
        ("core", &[], "is no JSON: expected value at line 1 column 1"),
        (r#"{"name":"core"}"#, &[], r#"is {"name":"core"}, not a list"#),
        (r#"[7,{"name":"core"}]"#, &["core"], "entry 0 is 7, not an object"),
        (r#"[null]"#, &[], "entry 0 is null, not an object"),
        (r#"[{"name":["core"]},{"name":"a"}]"#, &["a"], r#"name of entry 0 is ["core"], not a text"#),
        (r#"[{"name":"a","ips":"10.0.0.1"}]"#, &["a"], r#"ips of entry 0 is "10.0.0.1", not a list"#),
        (
            r#"[{"name":"a","ips":["10.0.0.1","10.0.0.999",7,"10.0.0.2/33","<nil>"]}]"#,
            &["a  10.0.0.1"],
            r#""10.0.0.999" in ips of entry 0 is no address; 7 in ips of entry 0 is no address; "10.0.0.2/33" in ips of entry 0 is no address; and 1 more"#,
        ),
        (r#"[{"name":"a","ips":["fe80::1%eth0","::1/129"]}]"#, &["a"], ""),
    ] {
        let (read, told) = read(text);
        assert_eq!(read, expected, "{text}");
        let told = told.unwrap_or_else(|| panic!("{text}: nothing is told"));
        assert!(problem.is_empty() || told == problem, "{text}: {told}");
    }
}

#[test]
fn behaviour_5_a_huge_value_is_read_and_told_in_a_few_words() {
    let many: Vec<_> = (0..5000).map(|number| format!(r#"{{"name":"n{number}","ips":["10.0.0.1"]}}"#)).collect();
    assert_eq!(read(&format!("[{}]", many.join(","))).0.len(), 5000);
    for text in
        [format!("[{}]", vec!["7"; 100_000].join(",")), "[".repeat(100_000), format!("[\"{}\"]", "ä".repeat(99_999))]
    {
        let told = read(&text).1.unwrap();
        assert!(told.len() < 500, "{told}");
    }
}

#[test]
fn a_reference_is_relative_to_where_it_is_used() {
    for (one, other, expected) in [
        ("core", "core", true),
        ("core", "here/core", true),
        ("here/core", "core", true),
        ("there/core", "core", false),
        ("there/core", "there/core", true),
        ("core", "access", false),
        ("here/core", "there/core", false),
    ] {
        assert_eq!(Reference::parse(one).is(&Reference::parse(other), "here"), expected, "{one} {other}");
    }
}

proptest! {
    #[test]
    fn behaviour_5_no_text_makes_it_panic(text in any::<String>()) {
        let _read = parse(&text);
    }

    #[test]
    fn behaviour_5_no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _read = parse(&String::from_utf8_lossy(&bytes));
    }

    /// Text that is nearly right gets further than random text.
    #[test]
    fn behaviour_5_no_mutation_of_a_good_one_makes_it_panic(at in 0_usize..150, with in any::<char>()) {
        let good = r#"[{"name":"a/core","interface":"net1","ips":["10.50.0.4/24","fd00::1"],"default":false,"dns":{}},{"name":""}]"#;
        let mut text: Vec<char> = good.chars().collect();
        let at = at.min(text.len() - 1);
        text[at] = with;
        let read = parse(&text.iter().collect::<String>());
        prop_assert!(read.attachments.len() <= 2);
    }
}
