//! Which completed steps wait for approval (spec `step-and-outcome` 7). The seed calls it `parksForApproval`.
