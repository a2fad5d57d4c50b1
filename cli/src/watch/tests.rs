//! The dashboard as people see it, on screens of three sizes; and what keys do to it.

mod pictures;
mod presses;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratchet_engine::name::{AgentName, BatchName, ChangeName, PhaseName, SpawnId, StepKey};
use ratchet_engine::park::ParkKind;
use ratchet_engine::settings::GateMode;
use ratchet_engine::status::{
    BatchState, BatchStatus, ChangeState, ChangeStatus, Next, PhaseState, PhaseStatus, Progress,
};
use ratchet_engine::time::Timestamp;
use ratchet_engine::transition::{StepKind, Transition};
use ratchet_engine::usage::{Completeness, SpawnUsage, Tally, Usage, Usd};
use ratchet_supervisor::event::{StepEvent, Stream};
use ratchet_supervisor::project::StepState;

use super::board::{Board, Wish};
use super::frame::draw;
use super::look::{Budget, Found, Look, Proof, ProofVerdict, Step, Watched};
use super::pager::Room;
use crate::render::page::Ink;
use crate::render::status::tests::{self, park_of};

/// 2026-07-02T09:00:00Z.
const START: i64 = 1_782_982_800_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_ms(START + seconds * 1000)
}

fn change_of(name: &str, status: ChangeState, completed: u64, total: u64) -> ChangeStatus {
    ChangeStatus {
        done: format!("{name} works"),
        progress: Progress { total, completed },
        ..tests::change_of(name, status)
    }
}

fn phase_of(name: &str, status: PhaseState, changes: Vec<ChangeStatus>) -> PhaseStatus {
    PhaseStatus { success: "people buy".into(), ..tests::phase_of(name, status, changes) }
}

fn step() -> Step {
    Step {
        spawn: SpawnId::parse("0192").unwrap(),
        key: StepKey::from_text("pay"),
        kind: Some(StepKind::Apply),
        agent: Some(AgentName::new("claude")),
        state: StepState::Running,
        since: Some(at(0)),
    }
}

/// A batch with a bit of everything.
fn shop() -> Watched {
    let spawn = SpawnUsage {
        usage: Usage { output_tokens: 1200, cost_usd: Usd::from_dollars(0.05), ..Usage::default() },
        completeness: Completeness::Known,
    };
    let used = Tally::of(&spawn);
    let cart = ChangeStatus { usage: Some(used), ..change_of("add-cart", ChangeState::Done, 3, 3) };
    let pay = change_of("pay", ChangeState::InProgress, 2, 9);
    let question = ChangeStatus {
        parked: Some(park_of(ParkKind::Blocked, "Which currency?\nEuro or dollar?")),
        ..change_of("日本語-menu", ChangeState::Blocked, 0, 0)
    };
    let plan = ChangeStatus {
        parked: Some(park_of(ParkKind::AwaitingApproval, "planned in four tasks\x1b[2J")),
        ..change_of("mail", ChangeState::AwaitingApproval, 0, 4)
    };
    let later = ChangeStatus {
        blocked_by: vec![ChangeName::parse("pay").unwrap()],
        ..change_of("refund", ChangeState::Blocked, 0, 0)
    };
    let first =
        phase_of("checkout", PhaseState::InProgress, vec![cart, pay, question, plan, later]);
    let second = PhaseStatus {
        gated_by: Some("checkout".into()),
        ..phase_of("ship", PhaseState::Blocked, Vec::new())
    };
    let status = BatchStatus {
        name: BatchName::parse("shop").unwrap(),
        status: BatchState::InProgress,
        progress: Progress { total: 16, completed: 5 },
        change_count: 5,
        done_count: 1,
        gate: GateMode::Voluntary,
        next: Some(Next::Change {
            phase: PhaseName::parse("checkout").unwrap(),
            change: ChangeName::parse("pay").unwrap(),
        }),
        pull_request: None,
        phases: vec![first, second],
        usage: Some(used),
    };
    let moves =
        [("pay", Transition::Apply), ("mail", Transition::Apply), ("refund", Transition::Propose)];
    let proof = |name, verdict| {
        (PhaseName::parse(name).unwrap(), Proof { run: "tests/run.sh".into(), verdict })
    };
    let found = Found {
        status,
        moves: moves.map(|(name, kind)| (ChangeName::parse(name).unwrap(), kind)).into(),
        proofs: [
            proof("checkout", ProofVerdict::Failed { why: "exit code 1".into() }),
            proof("ship", ProofVerdict::NotRun),
        ]
        .into(),
        budget: Budget { usd: Usd::from_dollars(5.0), tokens: None },
        step: Some(step()),
        warnings: Vec::new(),
    };
    Watched { name: BatchName::parse("shop").unwrap(), found: Ok(found) }
}

fn broken() -> Watched {
    let why = "Invalid batch manifest: phases: expected a list";
    Watched { name: BatchName::parse("broken").unwrap(), found: Err(why.into()) }
}

/// A dashboard at its first look.
fn board(width: usize, height: usize, batches: Vec<Watched>) -> Board {
    let mut board = Board::new(Ink::Plain, "market".into(), at(0), Room { width, height });
    board.found(Look { batches, problem: None }, at(133));
    board
}

/// As the terminal does it: the step of the batch that is chosen is followed.
fn following(mut board: Board) -> Board {
    let wanted = board.wanted().map(|(batch, step)| (batch.clone(), step.clone()));
    let (batch, step) = wanted.unwrap();
    board.follow(batch, &step);
    board
}

fn printed(text: &str) -> StepEvent {
    let bytes = text.as_bytes().to_vec();
    StepEvent::Output { stream: Stream::Stderr, bytes, offset: None, next: 0 }
}

fn press(board: &mut Board, code: KeyCode) -> Option<Wish> {
    board.press(KeyEvent::new(code, KeyModifiers::NONE))
}

fn presses(board: &mut Board, keys: &str) -> Option<Wish> {
    keys.chars().map(|c| press(board, KeyCode::Char(c))).last().flatten()
}

/// The screen as text. A wide character fills the two columns that it takes.
fn picture(board: &Board) -> String {
    let (width, height) = (board.room.width, board.room.height);
    let backend = TestBackend::new(width.try_into().unwrap(), height.try_into().unwrap());
    let mut terminal = Terminal::new(backend).unwrap();
    terminal.draw(|frame| draw(frame, board)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for row in 0..buffer.area.height {
        let mut line = String::new();
        let mut hidden = 0;
        for column in 0..buffer.area.width {
            let symbol = buffer[(column, row)].symbol();
            if hidden > 0 {
                hidden -= 1;
                continue;
            }
            line.push_str(symbol);
            hidden = super::scroll::columns(symbol).saturating_sub(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
