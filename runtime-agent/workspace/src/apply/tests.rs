//! A death at every moment: all of a result is in afterwards, or nothing, and nothing is left lying about.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::*;
use crate::testing::{Place, dying_after, write};

struct Scene {
    _place: Place,
    home: Workspace,
    base: SnapshotId,
    result: SnapshotId,
}

fn scene() -> Scene {
    let place = Place::new();
    let store = place.store("store");
    let (home, away) = (place.workspace(&store, "home"), place.workspace(&store, "away"));
    write(home.root(), &[("a", "1"), ("b/c", "2"), ("d", "3"), ("kept", "4")]);
    let base = home.snapshot(Base::Project(&Rules::default())).unwrap().id;
    store.keep("base", base).unwrap();
    away.checkout(base).unwrap();
    write(away.root(), &[("a", "one"), ("new/er", "five")]);
    fs::remove_file(away.root().join("d")).unwrap();
    fs::remove_dir_all(away.root().join("b")).unwrap();
    write(away.root(), &[("b", "a file now"), ("d/", "")]);
    let result = away.snapshot(Base::Snapshot(base)).unwrap().id;
    store.keep("result", result).unwrap();
    Scene { _place: place, home, base, result }
}

fn files(root: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                all.insert(format!("{name}/"), String::new());
                waiting.push(path);
            } else {
                all.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    all
}

fn expected() -> BTreeMap<String, String> {
    let all = [
        ("a", "one"),
        ("b", "a file now"),
        ("d/", ""),
        ("kept", "4"),
        ("new/", ""),
        ("new/er", "five"),
    ];
    all.map(|(path, text)| (path.to_owned(), text.to_owned())).into()
}

#[test]
fn killed_at_any_moment_the_next_call_brings_in_the_rest() {
    for moments in 0.. {
        let scene = scene();
        let apply = || scene.home.apply(&Rules::default(), scene.base, scene.result);
        let died = dying_after(moments, apply).is_err();
        let outcome = apply().unwrap();
        assert_eq!(outcome, Outcome::Applied { paths: 5 }, "after {moments}");
        assert_eq!(files(scene.home.root()), expected(), "after {moments}");
        assert_eq!(scene.home.resume().unwrap(), None);
        if !died {
            assert!(moments > 8, "{moments}");
            break;
        }
    }
}

#[test]
fn an_edit_made_between_a_death_and_the_next_call_takes_everything_back() {
    for moments in 0.. {
        let scene = scene();
        let root = scene.home.root();
        let before = files(root);
        let apply = || scene.home.apply(&Rules::default(), scene.base, scene.result);
        if dying_after(moments, apply).is_ok() {
            break;
        }
        write(root, &[("a", "edited meanwhile")]);
        // The way back may be cut as well.
        let again = dying_after(moments, apply);
        let outcome = apply().unwrap();
        assert!(
            matches!(&outcome, Outcome::Conflict { paths } if paths[0].to_string() == "a"),
            "after {moments}: {again:?}, {outcome:?}"
        );
        let mut after = before;
        after.insert("a".to_owned(), "edited meanwhile".to_owned());
        assert_eq!(files(root), after, "after {moments}");
    }
}
