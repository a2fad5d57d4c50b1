//! Feature files that are none, one rule after the other.

use super::*;

const GOOD: &str = "Feature: shelf\n\n  Scenario: one\n    Given a\n    When b\n    Then c\n";

fn faults(text: &str) -> Vec<String> {
    check(text).iter().map(ToString::to_string).collect()
}

#[test]
fn a_feature_is_read_leniently() {
    let outline = "# note\n@a @b\nFEATURE: shelf\nAs a reader\nWhen I like\n\nBackground:\n  Given all\n\n\
        @holdout\nScenario Outline: one\nsome prose\n  given <a>\n  | x | y |\n  WHEN b\n  * bullet\n  \
        Then c\n  \"\"\"\n  Scenario:\n  \"\"\"\n  And d\nExamples:\n  | a |\n  Given\n\
        Example: two\n Given a\n When b\n Then c\n But d\n";
    let windows = GOOD.replace('\n', "\r\n");
    let old_mac = GOOD.replace('\n', "\r");
    let marked = format!("\u{feff}{GOOD}");
    for text in [GOOD, outline, &windows, &old_mac, &marked, GOOD.trim_end()] {
        assert_eq!(faults(text), [""; 0], "{text:?}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let cases: [(&str, &[&str]); 9] = [
        (
            "",
            &[
                "there is no 'Feature:' with a name (line 1, column 1)",
                "there is no scenario (line 1, column 1)",
            ],
        ),
        (
            "not a feature",
            &[
                "there is no 'Feature:' with a name (line 1, column 1)",
                "there is no scenario (line 1, column 1)",
            ],
        ),
        (
            "\n  Feature:\nScenario: a\nGiven a\nWhen b\nThen c\n",
            &["there is no 'Feature:' with a name (line 2, column 3)"],
        ),
        ("Feature: a\n", &["there is no scenario (line 1, column 1)"]),
        (
            "Feature: a\n  Scenario:\n  Given a\n  When b\n  Then c\n",
            &["a scenario has no name (line 2, column 3)"],
        ),
        ("Feature: a\nScenario: b\n\n", &["the scenario 'b' has no steps (line 2, column 1)"]),
        (
            "Feature: a\nScenario: b\nGiven\nWhen b\nThen c\n",
            &["the step 'Given' has no text (line 3, column 1)"],
        ),
        (
            "Feature: a\nScenario: b\nThen c\nAnd d\nButter e\n",
            &[
                "the scenario 'b' has no Given (line 2, column 1)",
                "the scenario 'b' has no When (line 2, column 1)",
            ],
        ),
        (
            "Feature: a\nScenario: b\nBackground:\nGiven a\nWhen b\nThen c\n",
            &["the scenario 'b' has no steps (line 2, column 1)"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(faults(text), expected, "{text:?}");
    }
}

#[test]
fn every_scenario_is_looked_at() {
    let text =
        format!("{GOOD}  Scenario: two\n    Given a\n  Scenario: three\n    When b\n    Then c\n");
    let found = check(&text);
    assert_eq!(found.iter().map(|fault| fault.line).collect::<Vec<_>>(), [7, 7, 9]);
}
