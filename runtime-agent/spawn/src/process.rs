//! What the kernel says about processes and about the machine: `/proc`, read and nothing else.

use std::fs;
use std::io;

/// Names the current boot of the machine.
pub(crate) fn boot_id() -> io::Result<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned())
}
