//! Holds every `--json` answer against its schema in `docs/schemas/`, which is what programs rely on. Tests only.

use std::fs;

use serde::Serialize;
use serde_json::Value;

/// Fails with every difference if the document is not what `docs/schemas/<name>.json` promises.
pub(crate) fn assert_fits(name: &str, document: &impl Serialize) {
    let path = format!("{}/../docs/schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let document = serde_json::to_value(document).unwrap();
    let problems: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}\nin {document:#}");
}

#[test]
fn every_schema_is_a_schema() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let schema: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            assert!(jsonschema::meta::is_valid(&schema), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 15, "only {seen} schemas in {folder}");
}
