//! Feature files that are none, one rule after the other.

use super::*;
use crate::level::Level;

const GOOD: &str = "Feature: shelf\n\n  Scenario: one\n    Given a\n    When b\n    Then c\n";

fn faults(text: &str) -> Vec<String> {
    check(text).iter().map(ToString::to_string).collect()
}

// C-J01 C-J05
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

// C-J09
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
                "the scenario 'b' has only Then steps (line 2, column 1)",
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
    assert_eq!(found.iter().map(|fault| fault.place.line).collect::<Vec<_>>(), [7, 7, 9]);
}

// C-J01 C-J02 C-J03 C-J05
#[test]
fn a_feature_is_read_into_its_parts() {
    let text = "Feature: shelf\n  So that\n  it is.\n\nBackground:\n  Given all\n\n@a @b\n@c\nScenario Outline: one\n  \
        given <a>\n  * bullet\n  And b\n  Examples:\n  | a |\n\n@d\nScenario: two\n  But c\n";
    let feature = read(text).unwrap();
    assert_eq!(feature.name, "shelf");
    assert_eq!(feature.description.as_deref(), Some("So that\nit is."));
    let [one, two] = &feature.scenarios[..] else { panic!("{feature:?}") };
    assert_eq!((one.name.as_str(), one.kind, one.place.line), ("one", ScenarioKind::Outline, 10));
    assert_eq!(one.tags, ["@a", "@b", "@c"]);
    let steps: Vec<(Keyword, &str)> =
        one.steps.iter().map(|step| (step.keyword, step.text.as_str())).collect();
    assert_eq!(steps, [(Keyword::Given, "<a>"), (Keyword::And, "b")]);
    assert_eq!((two.kind, two.tags.as_slice()), (ScenarioKind::Plain, &["@d".to_owned()][..]));
    assert_eq!(two.steps[0].keyword, Keyword::But);
}

// C-J01
#[test]
fn the_keyword_of_a_feature_has_any_case_and_without_one_there_is_no_name() {
    for (text, name) in [("fEaTuRe: x\n", "x"), ("Some text\nScenario: a\n", ""), ("", "")] {
        assert_eq!(read(text).unwrap().name, name, "{text:?}");
    }
}

// C-J04
#[test]
fn tags_wait_for_the_next_scenario_and_no_longer() {
    let tags = |text: &str| -> Vec<Vec<String>> {
        read(text).unwrap().scenarios.into_iter().map(|scenario| scenario.tags).collect()
    };
    assert_eq!(tags("@f\nFeature: a\nScenario: b\n"), [[""; 0]]);
    assert_eq!(tags("@b\nBackground:\nScenario: b\n"), [[""; 0]]);
    let examples = "@x\nScenario Outline: b\n@e\nExamples:\n|a|\nScenario: c\n";
    assert_eq!(tags(examples), [vec!["@x".to_owned()], vec![]]);
    assert_eq!(tags("@x # @y\n# note\n\n@z\nScenario: b\n"), [["@x", "@z"]]);
}

#[test]
fn the_scenarios_of_a_rule_have_its_tags() {
    let text = "Feature: a\nScenario: b\n@r\nRule: c\n  Given prose\n  Background:\n  Given z\n  @s\n  Scenario: d\nRule: e\nScenario: f\n";
    let scenarios = read(text).unwrap().scenarios;
    let tags: Vec<String> = scenarios.iter().map(|scenario| scenario.tags.join(" ")).collect();
    assert_eq!(tags, ["", "@r @s", ""]);
    assert!(scenarios.iter().all(|scenario| scenario.steps.is_empty()));
}

// C-J06
#[test]
fn a_feature_without_scenarios_and_a_scenario_without_steps_are_read() {
    assert!(read("Feature: a\n").unwrap().scenarios.is_empty());
    assert!(read("Feature: a\nScenario: b\n").unwrap().scenarios[0].steps.is_empty());
}

// C-J09
#[test]
fn what_only_deserves_a_look_is_no_error() {
    let outline = GOOD.replace("Scenario:", "Scenario Outline:");
    let twice =
        format!("{GOOD}{}", GOOD.trim_start_matches("Feature: shelf\n\n").replace("one", "ONE"));
    let cases = [
        (
            outline.as_str(),
            Level::Info,
            "the outline 'one' has no <placeholder> in any step (line 3, column 3)",
        ),
        (
            &twice,
            Level::Warning,
            "a scenario before this one is called 'ONE' too (line 7, column 3)",
        ),
    ];
    for (text, level, words) in cases {
        let found = check(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].flaw.level(), found[0].to_string().as_str()), (level, words));
    }
    assert_eq!(check(&outline.replace("Given a", "Given <a>")), []);
}

#[test]
fn a_text_that_is_never_closed_hides_no_scenario_unseen() {
    let text = format!("{GOOD}    \"\"\"\n  @holdout\n  Scenario: hidden\n");
    assert_eq!(faults(&text).len(), 1);
    assert!(faults(&text)[0].starts_with("the text that begins here is never closed"));
}

const GERMAN: &str = "# language: de\nFunktionalität: Regal\n\n  Szenario: eins\n    Angenommen ein Buch\n    \
    Wenn ich suche\n    Dann finde ich es\n    Und es ist rot\n\n  @holdout\n  Szenario: zwei\n    Angenommen nichts\n    \
    Wenn ich suche\n    Dann finde ich nichts\n\n  Regel: Bücher\n\n    Szenariogrundriss: drei\n      Angenommen <a>\n      \
    Wenn b\n      Dann c\n\n      Beispiele:\n        | a |\n        | 1 |\n";

#[test]
fn a_feature_in_another_language_is_read_by_its_grammar() {
    let feature = read(GERMAN).unwrap();
    assert_eq!(feature.name, "Regal");
    let names: Vec<&str> = feature.scenarios.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["eins", "zwei", "drei"]);
    assert_eq!(feature.scenarios[1].tags, ["@holdout"]);
    assert_eq!(feature.scenarios[2].kind, ScenarioKind::Outline);
    assert_eq!(feature.scenarios[0].place, Place { line: 4, column: 3 });
    assert_eq!(check(GERMAN), []);
    assert_eq!(check(&GERMAN.replace('\n', "\r\n")), []);
    let lacking = check(&GERMAN.replacen("    Wenn ich suche\n", "", 1));
    assert_eq!(lacking[0].to_string(), "the scenario 'eins' has no When (line 4, column 3)");
}

#[test]
fn what_is_wrong_in_another_language_has_a_place_too() {
    let broken = faults("# language: de\n\nFeature: shelf\n");
    assert_eq!(
        broken,
        ["this does not fit the grammar of features in the language 'de' (line 3, column 15)"]
    );
    let unknown = faults("\n# language: xx\nFeature: a\n");
    assert_eq!(unknown, ["the language 'xx' is not known (line 2, column 1)"]);
    assert_eq!(faults(&format!("# language: en\n{GOOD}")), [""; 0]);
}

// C-J07
#[test]
fn what_is_held_back_goes_and_every_other_byte_stays() {
    let text = "Feature: a\r\n\r\n  @x\r\n  Scenario: b\r\n    Given y\r\n    \"\"\"\r\n    @holdout\r\n    Scenario: no\r\n    \
        \"\"\"\r\n\r\n  # held\r\n  @slow\r\n  @holdout @z\r\n  Scenario Outline: c\r\n    Given <y>\r\n\r\n  @e\r\n    \
        Examples:\r\n    | y |\r\n\r\n  Scenario: d\r\n    Given z";
    let (before, rest) = text.split_once("  @slow").unwrap();
    let after = &rest[rest.find("  Scenario: d").unwrap()..];
    assert_eq!(without_holdouts(text).unwrap(), format!("{before}{after}"));
    assert_eq!(without_holdouts(GOOD).unwrap(), GOOD);
    let german = without_holdouts(GERMAN).unwrap();
    assert!(!german.contains("zwei") && !german.contains("@holdout"), "{german}");
    assert!(german.contains("eins") && german.contains("Regel: Bücher"), "{german}");
    let rule = "Feature: a\nScenario: b\n@holdout\nRule: c\nScenario: d\n\n@holdouts\nRule: e\n";
    let kept = "Feature: a\nScenario: b\n@holdouts\nRule: e\n";
    assert_eq!(without_holdouts(rule).unwrap(), kept);
}

// C-J07
#[test]
fn the_filter_and_the_reader_agree_on_what_is_held_back() {
    let texts = [GERMAN, GOOD, "@holdout\nScenario: a\n@b\n@holdout\nScenario: c\nScenario: d\n"];
    for text in texts {
        let visible = |scenario: &Scenario| !scenario.tags.iter().any(|tag| tag == HOLDOUT);
        let names = |feature: Feature, keep: &dyn Fn(&Scenario) -> bool| -> Vec<String> {
            feature.scenarios.into_iter().filter(|one| keep(one)).map(|one| one.name).collect()
        };
        let filtered = read(&without_holdouts(text).unwrap()).unwrap();
        assert_eq!(names(filtered, &|_| true), names(read(text).unwrap(), &visible), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_and_filtered_without_a_panic(
        text in "(# language: de\n|Funktionalität: a\n|  Szenario: b\n|Angenommen |Wenn |\\| x \\|\n|\"\"\"|@holdout\n|Feature: |\
            Scenario: |Rule: |Examples:\n|[a\r\n ]){0,30}"
    ) {
        let _faults = check(&text);
        if let Ok(kept) = without_holdouts(&text) {
            proptest::prop_assert!(kept.len() <= text.len());
        }
    }
}
