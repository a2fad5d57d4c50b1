//! Whether a phase may start: open, or shut and by what (spec `batch-status-and-selection` 3.1).
