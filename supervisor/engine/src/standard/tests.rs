//! What a standard is called, and the list at its end.

use super::*;

// C-L14
#[test]
fn a_standard_has_the_tag_of_its_front_matter_or_its_name() {
    let tagged = read("naming", "---\ntag: ' names '\nother: 1\n---\n# Names\n");
    assert_eq!((tagged.tag.as_str(), tagged.content.as_str()), ("names", "# Names\n"));
    assert_eq!(tagged.file_name, "naming.md");
    for text in ["# Names\n", "---\ntag: 1\n---\nx", "---\ntag: [\n---\n", "---\ntag: names\n", ""]
    {
        assert_eq!(read("naming", text).tag, "naming", "{text:?}");
    }
    assert_eq!(read("n", "---\r\ntag: t\r\n---\r\nbody\r\n").content, "body\r\n");
    assert_eq!(
        read("n", "---\ntag: t\n").content,
        "---\ntag: t\n",
        "never closed: no front matter"
    );
}

// C-J13
#[test]
fn a_tag_that_two_standards_share_is_named_once() {
    let all = ["a", "b", "c", "d"].map(|name| read(name, "---\ntag: x\n---\n"));
    let other = [read("a", ""), read("b", "---\ntag: a\n---\n"), read("c", "")];
    assert_eq!(shared_tags(&all), ["x"]);
    assert_eq!(shared_tags(&other), ["a"]);
    assert!(shared_tags(&other[1..]).is_empty());
}

fn features(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

// C-L11
#[test]
fn the_list_stands_at_the_end_and_twice_is_once() {
    let one = with_features("# Names\n\ntext  \n\n\n", &features(&["shop/a.feature"]));
    assert!(
        one.starts_with("# Names\n\ntext\n\n## Implemented by\n\n<!-- ratchet:implemented-by — ")
    );
    assert!(one.ends_with("-->\n\n- shop/a.feature\n"));
    assert_eq!(with_features(&one, &features(&["shop/a.feature"])), one);
    let two = with_features(&one, &features(&["shop/a.feature", "shop/b.feature"]));
    assert!(two.ends_with("- shop/a.feature\n- shop/b.feature\n"));
    assert_eq!(two.matches("## Implemented by").count(), 1);
    assert_eq!(with_features(&two, &[]), "# Names\n\ntext\n");
}

// C-L11
#[test]
fn what_stands_behind_the_list_stays_and_the_list_goes_behind_it() {
    let text = "# Names\n\n## Implemented by\n\n<!-- ratchet:implemented-by — old -->\n\n- x\n\n## More\n\nwords\n";
    let new = with_features(text, &features(&["y"]));
    assert!(new.starts_with("# Names\n\n## More\n\nwords\n\n## Implemented by\n"), "{new}");
    assert!(!new.contains("- x"));
}

// C-L11 C-L12
#[test]
fn a_standard_without_features_is_left_alone() {
    for text in ["# Names\n\n\n", "text", "", "## Implemented by\n\nby hand\n"] {
        assert_eq!(with_features(text, &[]), text);
    }
    let fenced = "```\n## Implemented by\n<!-- ratchet:implemented-by -->\n```\n";
    assert_eq!(with_features(fenced, &[]), fenced);
}
