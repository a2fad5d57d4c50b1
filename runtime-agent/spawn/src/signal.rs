//! Names of signals, for people and for files.

/// Gives the name of a signal, such as `SIGKILL`; `SIG34` and the like for those without one.
#[must_use]
pub fn signal_name(number: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    match index.and_then(|index| NAMES.get(index)) {
        Some(name) => format!("SIG{name}"),
        None => format!("SIG{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_has_the_name_that_kill_knows() {
        assert_eq!(signal_name(9), "SIGKILL");
        assert_eq!(signal_name(15), "SIGTERM");
        assert_eq!(signal_name(31), "SIGSYS");
        assert_eq!(signal_name(40), "SIG40");
        assert_eq!(signal_name(0), "SIG0");
    }
}
