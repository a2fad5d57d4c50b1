//! Values into text. Pure, so that every rendering can be tested as text; the words a person reads are made here and in
//! [`crate::diagnostic`], and nowhere else.

pub(crate) mod archive;
pub(crate) mod bar;
pub(crate) mod changes;
pub(crate) mod dashboard;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod event;
pub(crate) mod findings;
pub(crate) mod instructions;
pub(crate) mod list;
pub(crate) mod page;
pub(crate) mod planning;
pub(crate) mod settings;
pub(crate) mod setup;
pub(crate) mod status;
pub(crate) mod step;
pub(crate) mod supervisor;
pub(crate) mod usage;
pub(crate) mod view;
pub(crate) mod worker;
