//! What keys do, and what news does to what was chosen.

use ratchet_supervisor::project::Report;

use super::*;
use crate::watch::rows::{Place, Row};

fn chosen(board: &Board) -> String {
    match board.row().map(Row::place) {
        Some(Place::Batch(batch)) => batch.to_string(),
        Some(Place::Phase(batch, phase)) => format!("{batch}/{phase}"),
        Some(Place::Change(batch, change)) => format!("{batch}/…/{change}"),
        Some(Place::PullRequest(batch)) => format!("{batch}/pr"),
        None => String::new(),
    }
}

#[test]
fn one_moves_through_the_rows_and_not_beyond_them() {
    let mut board = board(80, 24, vec![broken(), shop()]);
    assert_eq!(chosen(&board), "broken");
    press(&mut board, KeyCode::Up);
    assert_eq!(chosen(&board), "broken");
    press(&mut board, KeyCode::End);
    assert_eq!(chosen(&board), "shop/ship");
    press(&mut board, KeyCode::Down);
    assert_eq!(chosen(&board), "shop/ship");
    press(&mut board, KeyCode::PageUp);
    assert_eq!(chosen(&board), "broken");
    presses(&mut board, "jjj");
    assert_eq!(chosen(&board), "shop/…/add-cart");
}

#[test]
fn what_is_closed_hides_what_is_in_it_and_leads_outwards() {
    let mut board = board(80, 24, vec![shop()]);
    presses(&mut board, "jj");
    press(&mut board, KeyCode::Left);
    assert_eq!(chosen(&board), "shop/checkout");
    press(&mut board, KeyCode::Left);
    press(&mut board, KeyCode::Down);
    assert_eq!(chosen(&board), "shop/ship");
    press(&mut board, KeyCode::Up);
    press(&mut board, KeyCode::Left);
    assert_eq!(chosen(&board), "shop");
    press(&mut board, KeyCode::Enter);
    press(&mut board, KeyCode::Down);
    assert_eq!(chosen(&board), "shop", "everything is hidden");
    press(&mut board, KeyCode::Right);
    press(&mut board, KeyCode::Down);
    press(&mut board, KeyCode::Enter);
    press(&mut board, KeyCode::Down);
    assert_eq!(chosen(&board), "shop/…/add-cart");
}

#[test]
fn a_decision_is_about_the_row_that_is_chosen() {
    let mut board = board(80, 24, vec![shop()]);
    assert_eq!(presses(&mut board, "a"), None);
    assert!(picture(&board).contains("Choose what is meant first"));
    press(&mut board, KeyCode::Tab);
    assert_eq!(chosen(&board), "shop/…/日本語-menu");
    presses(&mut board, "i");
    board.paste("euro\n");
    let wish = press(&mut board, KeyCode::Enter);
    let batch = BatchName::parse("shop").unwrap();
    let report = |key: &str, report| {
        Some(Wish::Report { batch: batch.clone(), key: StepKey::from_text(key), report })
    };
    assert_eq!(wish, report("日本語-menu", Report::Answer("euro".into())));
    press(&mut board, KeyCode::Tab);
    assert_eq!(presses(&mut board, "a"), report("mail", Report::Approve));
    presses(&mut board, "rtoo long");
    assert_eq!(
        press(&mut board, KeyCode::Enter),
        report("mail", Report::Reject("too long".into()))
    );
    presses(&mut board, "rnever mind");
    assert_eq!(press(&mut board, KeyCode::Esc), None);
    assert_eq!(presses(&mut board, "q"), Some(Wish::Leave));
}

#[test]
fn a_step_is_stopped_only_after_a_clear_yes() {
    let mut board = following(board(80, 24, vec![shop()]));
    presses(&mut board, "c");
    assert!(picture(&board).contains("Stop apply of pay? [y/N]"));
    assert_eq!(press(&mut board, KeyCode::Enter), None);
    let batch = BatchName::parse("shop").unwrap();
    assert_eq!(presses(&mut board, "cy"), Some(Wish::Cancel { batch }));
    let mut idle = shop();
    idle.found.as_mut().unwrap().step = None;
    board.found(Look { batches: vec![idle], problem: None }, at(200));
    assert_eq!(presses(&mut board, "cy"), None);
}

#[test]
fn the_log_of_a_row_is_that_of_its_own_steps() {
    let mut board = following(board(80, 24, vec![shop()]));
    let batch = BatchName::parse("shop").unwrap();
    assert_eq!(presses(&mut board, "l"), None, "the step that runs is there already");
    presses(&mut board, "qjj");
    let keys = vec![StepKey::from_text("add-cart")];
    assert_eq!(presses(&mut board, "l"), Some(Wish::ReadLog { batch, keys }));
}

#[test]
fn ctrl_c_ends_it_in_every_mode() {
    for keys in ["", "?", "jjji", "c", "l"] {
        let mut board = following(board(80, 24, vec![shop()]));
        presses(&mut board, keys);
        let end = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(board.press(end), Some(Wish::Interrupt), "{keys}");
    }
}

#[test]
fn news_leaves_the_choice_where_it_was_and_a_row_that_goes_leaves_its_neighbour() {
    let mut board = board(80, 24, vec![shop()]);
    press(&mut board, KeyCode::End);
    board.found(Look { batches: vec![broken(), shop()], problem: None }, at(1));
    assert_eq!(chosen(&board), "shop/ship");
    board.found(Look { batches: vec![broken()], problem: None }, at(2));
    assert_eq!(chosen(&board), "broken");
    board.found(Look::default(), at(3));
    assert_eq!(chosen(&board), "");
    board.found(Look { batches: vec![shop()], problem: None }, at(4));
    assert_eq!(chosen(&board), "shop");
}

#[test]
fn an_output_stays_in_sight_when_its_step_is_over_and_goes_with_its_batch() {
    let mut board = following(board(80, 24, vec![shop(), broken()]));
    board.hear(printed("the last word\n"));
    board.hear_no_more(None);
    let mut idle = shop();
    idle.found.as_mut().unwrap().step = None;
    board.found(Look { batches: vec![idle, broken()], problem: None }, at(200));
    assert!(!board.drop_foreign_output() && !board.ticks());
    let shown = picture(&board);
    assert!(shown.contains("apply of pay · over") && shown.contains("the last word"), "{shown}");
    press(&mut board, KeyCode::End);
    assert!(board.drop_foreign_output());
    assert!(!picture(&board).contains("the last word"));
}

#[test]
fn the_clock_is_needed_only_while_something_runs() {
    let mut board = following(board(80, 24, vec![shop()]));
    assert!(board.ticks() && picture(&board).contains("02:13"));
    board.tick(at(3725));
    assert!(picture(&board).contains("1:02:05"));
    board.tick(at(-5));
    assert!(picture(&board).contains("00:00"), "a clock that was set back");
}
