//! Points at which a test may kill this process or have an actor panic, one after each of the six verbs and
//! between the parts of an archive. Compiled away unless the feature `fault-injection` is on, which no shipped build has.

/// A place between two verbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// Facts were read.
    Gathered,
    /// The plan is known.
    Decided,
    /// The intent is on disk.
    Intended,
    /// The command was started.
    Acted,
    /// The command has ended and its verdict is known.
    Judged,
    /// The outcome entry is on disk, the rest is not.
    Recorded,
    /// The next feature store is built, and not in its place.
    Staged,
    /// The feature store is the next one; its standards and the change are as before.
    Exchanged,
    /// Standards list the features that follow them; the change is not moved.
    Linked,
}

/// Dies here, as by `kill -9`, or panics, if the environment asks for it.
#[cfg(feature = "fault-injection")]
pub(crate) fn at(point: Point, environment: &crate::environment::Environment) {
    let name = match point {
        Point::Gathered => "gather",
        Point::Decided => "decide",
        Point::Intended => "intend",
        Point::Acted => "act",
        Point::Judged => "judge",
        Point::Recorded => "record",
        Point::Staged => "stage",
        Point::Exchanged => "exchange",
        Point::Linked => "link",
    };
    let asked = |variable| environment.var(variable).is_some_and(|wanted| wanted == name);
    if asked("RATCHET_TEST_CRASH_AT") {
        let killed =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        unreachable!("SIGKILL to oneself does not return: {killed:?}");
    }
    assert!(!asked("RATCHET_TEST_PANIC_AT"), "a test asks for a panic after '{name}'");
}

/// Does nothing.
#[cfg(not(feature = "fault-injection"))]
pub(crate) fn at(_point: Point, _environment: &crate::environment::Environment) {}
