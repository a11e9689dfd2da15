//! Which texts are label selectors, and what is said of those that are not.

use proptest::prelude::*;

use super::*;

fn error(text: &str) -> String {
    text.parse::<LabelSelector>().map(|selector| selector.text).unwrap_err().to_string()
}

#[test]
fn what_kubernetes_takes_is_taken_as_written() {
    let (label, prefix) = ("a".repeat(63), format!("{0}.{0}.{0}.{1}", "a".repeat(63), "a".repeat(61)));
    let longest = format!("{prefix}/{label}={label}");
    for text in [
        "product=ipfv2",
        "product==ipfv2",
        "product = ipfv2 ",
        "product!=ipfv2",
        "product",
        "!product",
        "! product",
        "example.com/part-of=a.b_c-1",
        "app in (a)",
        "app in(a,b)",
        "app\tin ( a , b )",
        "app notin (a, b),tier",
        "app=a,tier!=b,!canary",
        "app in (a,),tier in (,b),x in (,)",
        "app in (a,,,b)",
        "app in ()",
        "app=",
        "app=,tier=a",
        "app!=",
        "in in (in, notin)",
        "in",
        "notin=in",
        "size>5",
        "size < 007",
        "123=456",
        &longest,
    ] {
        let selector: LabelSelector = text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!((selector.as_str(), selector.to_string().as_str()), (text, text));
    }
}

#[test]
fn an_error_names_the_requirement() {
    let key = "is no label key: at most 63 letters, digits, -, _ and ., a letter or digit first and last, and before \
               it perhaps a DNS name and a slash";
    let value = "is no label value: at most 63 letters, digits, -, _ and ., a letter or digit first and last";
    let example = "expected a label selector such as product=ipfv2, app in (a, b) or !canary";
    let side = "a comma has no requirement on one side";
    for (text, expected) in [
        ("", example),
        (" ", example),
        (",", side),
        ("a,", side),
        (",a", side),
        ("a,,b", side),
        ("product=ipfv2,app in a", "in `app in a` expected (, found `a`"),
        ("app in", "in `app in` expected (, found the end"),
        ("app in (a", "in `app in (a` expected , or ), found the end"),
        ("app in (a b)", "in `app in (a b)` expected , or ), found `b`"),
        ("app in (a=b)", "in `app in (a=b)` expected , or ), found `=`"),
        ("app in (=)", "in `app in (=)` expected , or ), found `=`"),
        ("app in (a) b", "in `app in (a) b` expected nothing more, or a comma, found `b`"),
        ("app in (a))", "in `app in (a))` expected nothing more, or a comma, found `)`"),
        ("app IN (a)", "in `app IN (a)` expected =, ==, !=, in, notin, > or <, found `IN`"),
        ("app a", "in `app a` expected =, ==, !=, in, notin, > or <, found `a`"),
        ("app!", "in `app!` expected =, ==, !=, in, notin, > or <, found `!`"),
        ("app=a b", "in `app=a b` expected nothing more, or a comma, found `b`"),
        ("app===a", "in `app===a` expected a label value, found `=`"),
        ("app=!a", "in `app=!a` expected a label value, found `!`"),
        ("!app=a", "in `!app=a` expected nothing after the key, found `=`"),
        ("!!app", "in `!!app` expected a label key, found `!`"),
        ("=a", "in `=a` expected a label key, found `=`"),
        ("!", "in `!` expected a label key, found the end"),
        ("(a)", "in `(a)` expected a label key, found `(`"),
        ("size>", "in `size>` `` is no whole number"),
        ("size>1.5", "in `size>1.5` `1.5` is no whole number"),
        ("size>9223372036854775808", "in `size>9223372036854775808` `9223372036854775808` is no whole number"),
        ("-a=b", &format!("in `-a=b` `-a` {key}")),
        ("/a=b", &format!("in `/a=b` `/a` {key}")),
        ("a/=b", &format!("in `a/=b` `a/` {key}")),
        ("a/b/c", &format!("in `a/b/c` `a/b/c` {key}")),
        ("Example.com/a", &format!("in `Example.com/a` `Example.com/a` {key}")),
        ("é=a", &format!("in `é=a` `é` {key}")),
        ("a=b,c=-d", &format!("in `c=-d` `-d` {value}")),
        ("a=b/c", &format!("in `a=b/c` `b/c` {value}")),
        ("a in (b, c;d)", &format!("in `a in (b, c;d)` `c;d` {value}")),
    ] {
        assert_eq!(error(text), expected, "of {text:?}");
    }
    assert!(error(&format!("a={}", "b".repeat(64))).ends_with(value));
    assert!(error(&"a".repeat(64)).ends_with(key));
}

#[test]
fn only_a_single_equality_has_an_opposite() {
    for (text, expected) in [
        ("product=ipfv2", Some("product!=ipfv2")),
        (" product == ipfv2 ", Some("product!=ipfv2")),
        ("example.com/a=", Some("example.com/a!=")),
        ("product!=ipfv2", None),
        ("product", None),
        ("!product", None),
        ("product in (ipfv2)", None),
        ("product=ipfv2,app=a", None),
        ("size>5", None),
    ] {
        assert_eq!(text.parse::<LabelSelector>().unwrap().excluding().as_deref(), expected, "of {text:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_judged_without_fail(text in "[a/=!<>(), é-]{0,24}") {
        let _ = text.parse::<LabelSelector>();
    }

    #[test]
    fn every_part_that_is_valid_makes_a_valid_whole(
        parts in proptest::collection::vec(
            proptest::sample::select(vec!["a=b", "a==b", "a!=b", "a", "!a", "a in (b, c)", "a notin (b)", "a>1", "x.y/a="]),
            1..6,
        ),
        space in "[ \t]{0,2}",
    ) {
        let text = parts.join(&format!("{space},{space}"));
        prop_assert!(text.parse::<LabelSelector>().is_ok());
    }
}
