//! Pictures, word for word.

use super::*;

#[test]
fn a_usual_terminal_shows_the_tree_the_chosen_row_and_what_is_printed() {
    let mut board = board(80, 24, vec![broken(), shop()]);
    assert!(picture(&board).contains("> ▾ broken"), "{}", picture(&board));
    presses(&mut board, "j");
    let mut board = following(board);
    board.hear(printed("compiling\nrunning 12 tests\n漢字 and e\u{301} line up\n"));
    insta::assert_snapshot!(picture(&board));
}

#[test]
fn a_small_terminal_still_shows_the_tree_and_the_end_of_the_output() {
    let mut board = following(board(40, 10, vec![shop()]));
    board.hear(printed("one\ntwo\nthree\n"));
    insta::assert_snapshot!(picture(&board));
}

#[test]
fn a_large_terminal_has_room_for_everything() {
    let mut board = following(board(200, 60, vec![shop(), broken()]));
    board.hear(printed(&"a line of output\n".repeat(100)));
    insta::assert_snapshot!(picture(&board));
}

#[test]
fn a_park_is_shown_with_the_keys_that_free_it_and_cannot_drive_the_terminal() {
    let mut board = following(board(80, 24, vec![shop()]));
    press(&mut board, KeyCode::Tab);
    press(&mut board, KeyCode::Tab);
    insta::assert_snapshot!(picture(&board));
}

#[test]
fn an_answer_is_typed_where_it_is_seen() {
    let mut board = following(board(40, 12, vec![shop()]));
    press(&mut board, KeyCode::Tab);
    presses(&mut board, "i");
    presses(&mut board, "euro, as the rest of the shop has it");
    insta::assert_snapshot!(picture(&board));
}

#[test]
fn a_whole_output_is_read_page_by_page() {
    let mut board = following(board(40, 10, vec![shop()]));
    board.hear(printed(&(1..=30).map(|line| format!("line {line}\n")).collect::<String>()));
    presses(&mut board, "l");
    press(&mut board, KeyCode::PageUp);
    insta::assert_snapshot!(picture(&board));
}

#[test]
fn the_help_lists_every_key() {
    let mut board = board(80, 24, Vec::new());
    presses(&mut board, "?");
    insta::assert_snapshot!(picture(&board));
}

#[test]
fn nothing_yet_and_nothing_at_all_are_told_apart() {
    let room = Room { width: 80, height: 24 };
    let before = Board::new(Ink::Plain, "market".into(), at(0), room);
    assert!(picture(&before).contains("Looking …"));
    assert!(picture(&board(80, 24, Vec::new())).contains("No batches found."));
}

#[test]
fn a_terminal_that_is_too_small_is_told_so() {
    for (width, height) in [(29, 24), (80, 7), (10, 3), (1, 1)] {
        let text = picture(&board(width, height, vec![shop()]));
        assert!(text.starts_with(&"This terminal is too small"[..width.min(26)]), "{text}");
    }
}

#[test]
fn every_size_can_be_drawn_in_every_mode() {
    for width in [1, 2, 10, 29, 30, 31, 39, 40, 60, 71, 72, 79, 80, 90] {
        for height in 1..=26 {
            let mut board = following(board(width, height, vec![shop(), broken()]));
            board.say(|page| {
                page.put("Error: a\n  because: b\n  help: c").end();
            });
            assert_eq!(picture(&board).lines().count(), height);
            press(&mut board, KeyCode::Tab);
            for keys in ["i日本", "\u{1b}?", "xl"] {
                presses(&mut board, keys);
                assert_eq!(picture(&board).lines().count(), height, "{width}×{height} {keys}");
                press(&mut board, KeyCode::Esc);
            }
        }
    }
}

#[test]
fn a_failure_stays_until_the_next_key_and_as_much_of_it_as_fits() {
    let mut board = following(board(80, 24, vec![shop()]));
    board.say(|page| {
        page.put("Error: it cannot be done\n  because: so\n  help: type this\n  code: not-parked")
            .end();
    });
    let shown = picture(&board);
    assert!(shown.ends_with("  help: type this\n  code: not-parked\n"), "{shown}");
    press(&mut board, KeyCode::Down);
    assert!(!picture(&board).contains("cannot be done"));
}

#[test]
fn colours_are_those_of_the_other_commands_and_plain_has_none() {
    let room = Room { width: 80, height: 24 };
    for ink in [Ink::Plain, Ink::Colour] {
        let mut board = Board::new(ink, "market".into(), at(0), room);
        board.found(Look { batches: vec![shop()], problem: None }, at(1));
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, &board)).unwrap();
        let styled = terminal
            .backend()
            .buffer()
            .content
            .iter()
            .any(|cell| cell.fg != ratatui::style::Color::Reset || !cell.modifier.is_empty());
        assert_eq!(styled, ink == Ink::Colour);
    }
}
