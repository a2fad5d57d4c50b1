//! `ratchet propose`, `apply` and `verify`: one forced step of one change, without a batch
//! (spec `agents-and-runtimes` 9). Whether the change is ready for it is the supervisor's question.

use ratchet_engine::name::ChangeName;
use ratchet_supervisor::request::ChangeStepRequest;

use super::{Ended, failed, open, stage};
use crate::args::change::{AgentRun, Move, Propose};
use crate::diagnostic::Failure;
use crate::exit::{CodeStyle, Exit};
use crate::render::step::{self, Manner};
use crate::ui::Ui;
