//! The one walk that picks the next step; status asks it too (spec `batch-status-and-selection` 4.2 and 5).
