//! The project's standards, `.ratchet/standards/*.md`. What one is, says [`ratchet_engine::standard`].

use std::path::Path;

use ratchet_engine::standard::{self, Standard};

use super::change::names_in;
use super::file::{FileError, Limit, read_if_there};
use super::layout::Layout;

/// Reads every standard, sorted by file name. One that cannot be read is left out; it is nobody's guideline.
///
/// # Errors
/// Fails if the folder is there and cannot be read.
pub fn read_all(layout: &Layout) -> Result<Vec<Standard>, FileError> {
    let folder = layout.standards();
    let read = |file: String| {
        let name = Path::new(&file).file_stem()?.to_str()?;
        let is_markdown = Path::new(&file).extension().is_some_and(|extension| extension == "md");
        let bytes = read_if_there(&folder.join(&file), Limit::TEXT).ok().flatten();
        let text = String::from_utf8(bytes.filter(|_| is_markdown)?).ok()?;
        Some(standard::read(name, &text))
    };
    Ok(names_in(&folder)?.into_iter().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    // C-L14
    #[test]
    fn every_readable_markdown_file_is_a_standard_in_the_order_of_names() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        assert!(read_all(&layout).unwrap().is_empty());
        fs::create_dir_all(layout.standards().join("folder.md")).unwrap();
        assert!(read_all(&layout).unwrap().is_empty());
        for (name, text) in [("b.md", "B"), ("a.md", "---\ntag: t\n---\nA"), ("c.txt", "C")] {
            fs::write(layout.standards().join(name), text).unwrap();
        }
        fs::write(layout.standards().join("d.md"), b"\xff").unwrap();
        let found = read_all(&layout).unwrap();
        let tags: Vec<(&str, &str)> =
            found.iter().map(|one| (one.file_name.as_str(), one.tag.as_str())).collect();
        assert_eq!(tags, [("a.md", "t"), ("b.md", "b")]);
    }
}
