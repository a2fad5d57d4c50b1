//! A spawn that was asked for and never begun, for the tests of this crate.

use std::path::Path;

use crate::request::{Limits, Request, Stdin};
use crate::{SpawnDir, SpawnId};

pub(crate) fn asked(root: &Path, id: &str) -> SpawnDir {
    let request = Request {
        id: SpawnId::parse(id).unwrap(),
        argv: vec!["true".into()],
        cwd: "/".into(),
        stdin: Stdin::Null,
        limits: Limits::default(),
        needed_by: None,
    };
    SpawnDir::create(root, &request).unwrap()
}
