//! Finds a ratchet that runs in any image: one that needs no library of the machine it was built on.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::error::DockerError;

/// What a static binary is called that lies beside one that is not.
const BESIDE: &str = "ratchet-static";

/// The program header that names a dynamic loader.
const PT_INTERP: u32 = 3;

/// Finds the binary: the running one if it is static, else the one beside it.
pub(super) fn find(ours: &Path) -> Result<PathBuf, DockerError> {
    let ours = ours.canonicalize().unwrap_or_else(|_| ours.to_owned());
    if is_static(&ours) {
        return Ok(ours);
    }
    let beside = ours.with_file_name(BESIDE);
    match beside.canonicalize() {
        Ok(found) if is_static(&found) => Ok(found),
        Ok(_) | Err(_) => Err(DockerError::NoStaticBinary { ours, beside }),
    }
}

fn is_static(file: &Path) -> bool {
    matches!(needs_loader(file), Ok(false))
}

/// Reads whether a 64-bit ELF file names a loader.
fn needs_loader(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut header = [0; 64];
    file.read_exact(&mut header)?;
    if header[..5] != *b"\x7fELF\x02" {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let (place, size, count) = (word(32), half(54), half(56));
    for index in 0..count {
        file.seek(SeekFrom::Start(place + u64::from(index) * u64::from(size)))?;
        let mut kind = [0; 4];
        file.read_exact(&mut kind)?;
        if u32::from_le_bytes(kind) == PT_INTERP {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_that_needs_a_loader_is_not_taken_and_the_error_says_where_another_would_be() {
        let folder = tempfile::tempdir().unwrap();
        let ours = folder.path().join("ratchet");
        std::fs::copy(std::env::current_exe().unwrap(), &ours).unwrap();
        if is_static(&ours) {
            assert_eq!(find(&ours).unwrap(), ours.canonicalize().unwrap());
            return;
        }
        let error = find(&ours).unwrap_err();
        assert!(
            error.to_string().contains(BESIDE) && error.help().contains("cargo build"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_program_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let ours = folder.path().join("ratchet");
        std::fs::write(&ours, "#!/bin/sh\n").unwrap();
        std::fs::write(folder.path().join(BESIDE), "x").unwrap();
        assert!(find(&ours).is_err());
    }
}
