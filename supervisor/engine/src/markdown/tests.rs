//! Headings, and what fences hide.

use super::*;

fn titles(text: &str) -> Vec<&str> {
    sections(text).into_iter().map(|section| section.title).collect()
}

// C-J08
#[test]
fn a_heading_in_fenced_code_is_none() {
    for fence in ["```", "~~~", "```md"] {
        let close = &fence[..3];
        let text = format!("# a\n{fence}\n# b\n{close}\n## c\n");
        assert_eq!(titles(&text), ["a", "c"], "{text}");
    }
    assert_eq!(titles("````\n```\n# a\n````\n# b\n"), ["b"]);
    assert_eq!(titles("~~~\n```\n# a\n~~~\n# b\n"), ["b"]);
    assert_eq!(titles("# a\n```\n# b\n"), ["a"], "a fence that is never closed masks the rest");
    assert_eq!(titles("# a\r\n```\r\n# b\r\n```\r\n# c\r\n"), ["a", "c"]);
}

#[test]
fn a_section_ends_where_one_as_high_begins() {
    let text = "\u{feff}# Plan\n\nintro\n## Why ##\nbecause\n### more\nof it\n## Tasks\n- [ ] a\n#no\n####### no\n";
    let found = sections(text);
    let whole: Vec<(&str, u32, usize)> = found.iter().map(|s| (s.title, s.line, s.level)).collect();
    assert_eq!(whole, [("Plan", 1, 1), ("Why", 4, 2), ("more", 6, 3), ("Tasks", 8, 2)]);
    assert_eq!(found[1].body, "because\n### more\nof it\n");
    assert_eq!(found[3].body, "- [ ] a\n#no\n####### no\n");
}
