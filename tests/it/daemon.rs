//! The supervisor's door, hosted in this process: every call once, who may call, who goes away, and what survives what.

mod access;
mod calls;
mod cli;
mod crowd;
mod held;
mod hosted;
mod reference;
mod single_flight;
mod strangers;
mod survival;
mod trouble;
