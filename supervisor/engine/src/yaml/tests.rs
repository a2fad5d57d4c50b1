//! What texts mean, where things stand, and what is refused.

use proptest::prelude::*;

use super::*;

fn value(text: &str) -> Value {
    parse(text).unwrap().value
}

#[track_caller]
fn refused(text: &str, line: u32, column: u32) -> String {
    let error = parse(text).unwrap_err();
    assert_eq!((error.line, error.column), (line, column), "{error}");
    error.problem.to_string()
}

#[test]
fn scalars_follow_the_core_schema() {
    for text in ["", "~", "null", "Null", "---\n", "# only a comment\n"] {
        assert_eq!(value(text), Value::Null, "{text:?}");
    }
    assert_eq!((value("true"), value("FALSE")), (Value::Bool(true), Value::Bool(false)));
    for (text, number) in [
        ("123", 123.0),
        ("-0.5", -0.5),
        ("+7", 7.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("1.5E-1", 0.15),
        ("0", 0.0),
        ("0.25", 0.25),
        ("0x1F", 31.0),
        ("0o17", 15.0),
        ("-.inf", f64::NEG_INFINITY),
        ("123456789012345678901234567890", 123_456_789_012_345_678_901_234_567_890.0),
    ] {
        assert_eq!(value(text), Value::Number(number), "{text:?}");
    }
}

#[test]
fn what_yaml_1_1_took_for_something_else_is_text() {
    for text in [
        "yes",
        "no",
        "on",
        "off",
        "Y",
        "012",
        "-012",
        "12:30:45",
        "2031-05-04",
        "1_000",
        "0x",
        "0o8",
        "1e",
        "+",
        ".",
        "1.2.3",
        "infinity",
        "nan",
        "tRue",
        "--1",
        "0b1",
        "<<",
    ] {
        assert_eq!(value(text), Value::Text(text.to_owned()), "{text:?}");
    }
}

#[test]
fn quotes_and_tags_decide_over_the_spelling() {
    for text in ["'123'", "\"123\"", "!!str 123", "! 123"] {
        assert_eq!(value(text), Value::Text("123".to_owned()), "{text:?}");
    }
    assert_eq!(value("|\n  a\n  b\n"), Value::Text("a\nb\n".to_owned()));
    assert_eq!(value("!!int '7'"), Value::Number(7.0));
    assert_eq!(refused("!!int x", 1, 7), "the value does not fit its tag '!!int'");
}

#[test]
fn every_node_knows_its_place_and_maps_keep_their_order() {
    let tree = parse("b: 1\na:\n  - x\n  - {k: v}\n").unwrap();
    let keys: Vec<&str> = tree.as_map().unwrap().iter().map(|member| member.key.as_str()).collect();
    assert_eq!(keys, ["b", "a"]);
    let list = tree.get("a").unwrap();
    let inner = &list.as_list().unwrap()[1];
    assert_eq!((list.line, list.column), (3, 3));
    assert_eq!((inner.line, inner.column), (4, 5));
    assert_eq!((inner.as_map().unwrap()[0].line, inner.as_map().unwrap()[0].column), (4, 6));
    assert_eq!(inner.get("k").unwrap().as_text(), Some("v"));
}

#[test]
fn a_byte_order_mark_and_crlf_are_fine() {
    assert_eq!(value("\u{feff}a: x\r\nb: y\r\n"), value("a: x\nb: y\n"));
    assert_eq!(parse("a: 1\r\nb: 2\r\n").unwrap().get("b").unwrap().line, 2);
}

#[test]
fn json_with_tabs_is_yaml_enough() {
    let json = "{\n\t\"a\": {\n\t\t\"b\": [1, \"x\\u00e4\", null, true]\n\t}\n}\n";
    assert_eq!(
        parse(json).unwrap().get("a").unwrap().get("b").unwrap().as_list().unwrap().len(),
        4
    );
}

#[test]
fn a_key_given_twice_is_refused_where_it_repeats() {
    let text = refused("name: a\nb: 1\nname: c\nb: 2\n", 3, 1);
    assert_eq!(text, "the key 'name' is given twice in one map; it was first given in line 1");
    refused("a: {x: 1, 'x': 2}", 1, 11);
    assert!(parse("- {x: 1}\n- {x: 2}\n").is_ok());
}

#[test]
fn what_is_not_yaml_is_refused_with_its_place() {
    refused("phases: [\n", 1, 9);
    assert!(refused("a:\n\t- b\n", 2, 2).contains("tab"));
    assert!(refused("a: *nowhere\n", 1, 4).contains("anchor"));
    refused("? [a]\n: b\n", 1, 3);
    refused("a: 1\n---\nb: 2\n", 2, 1);
}

#[test]
fn bytes_that_are_not_utf8_have_a_place() {
    let error = parse_bytes(
        "a: 1\nb: ä".as_bytes().iter().chain(b"\xff\n").copied().collect::<Vec<_>>().as_slice(),
    )
    .unwrap_err();
    assert_eq!((error.problem, error.line, error.column), (YamlProblem::NotUtf8, 2, 5));
    assert!(parse_bytes("a: ä".as_bytes()).is_ok());
}

#[test]
fn an_ordinary_alias_is_a_copy() {
    let tree = parse("base: &b {x: [1, &k y]}\ncopy: *b\n*k : 2\n").unwrap();
    let (base, copy) = (tree.get("base").unwrap(), tree.get("copy").unwrap());
    assert_eq!(base.value, copy.value);
    assert_eq!((copy.line, copy.column), (2, 7));
    assert_eq!(tree.get("y").unwrap().value, Value::Number(2.0));
}

#[test]
fn aliases_that_explode_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let items = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    assert_eq!(parse(&bomb).unwrap_err().problem, YamlProblem::TooManyAliases);
    let wide = format!("a: &a {}\nb: [{}]\n", "x".repeat(20_000), vec!["*a"; 500].join(", "));
    assert_eq!(parse(&wide).unwrap_err().problem, YamlProblem::TooManyAliases);
    assert_eq!(parse("a: &a [*a]\n").unwrap_err().problem, YamlProblem::AliasInItself);
    let mut deep = "- &a0 x\n".to_owned();
    for level in 1..200 {
        deep.push_str(&format!("- &a{level} [*a{}]\n", level - 1));
    }
    assert_eq!(parse(&deep).unwrap_err().problem, YamlProblem::TooDeep);
}

#[test]
fn what_is_too_deep_or_too_long_is_refused() {
    assert!(parse(&format!("{}{}", "[".repeat(100), "]".repeat(100))).is_ok());
    assert_eq!(
        parse(&format!("{}{}", "[".repeat(101), "]".repeat(101))).unwrap_err().problem,
        YamlProblem::TooDeep
    );
    assert_eq!(parse(&"[".repeat(100_000)).unwrap_err().problem, YamlProblem::TooDeep);
    assert!(
        parse(&(0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect::<String>())
            .is_err()
    );
    assert!(parse(&"- ".repeat(100_000)).is_err());
    let long = " ".repeat(MAX_BYTES + 1);
    assert_eq!(parse(&long).unwrap_err().problem, YamlProblem::TooLong { bytes: MAX_BYTES + 1 });
}

#[test]
fn a_tree_shows_its_shape_and_never_its_texts() {
    let shown = format!("{:?}", parse("authToken: s3cret\n").unwrap());
    assert!(shown.contains("authToken") && !shown.contains("s3cret"), "{shown}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "([a-z0-9:,&*!|>'\"{}\\[\\]#%? \t\n.-]|- |: |&a |\\*a |\n  ){0,60}") {
        let _ = parse(&text);
    }
}
