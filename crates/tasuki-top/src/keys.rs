//! What keys mean.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A wish of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Leave,
    Help,
    /// The table of this number.
    View(usize),
    NextView,
    /// So many rows down; up if negative.
    Move(isize),
    First,
    Last,
    SortByNext,
    Reverse,
    Filter,
    /// Look into the row.
    Enter,
    /// Out of what is looked into, or without the filter.
    Back,
    Pause,
    Slower,
    Faster,
}

/// Rows of a page.
const PAGE: isize = 10;

/// What a key means while no text is typed.
pub(crate) fn wish(key: KeyEvent) -> Option<Wish> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, KeyCode::Char('c' | 'd')).then_some(Wish::Leave);
    }
    Some(match key.code {
        KeyCode::Char('q') => Wish::Leave,
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => Wish::Help,
        KeyCode::Char(digit @ '1'..='4') => Wish::View(digit as usize - '1' as usize),
        KeyCode::Tab => Wish::NextView,
        KeyCode::Down | KeyCode::Char('j') => Wish::Move(1),
        KeyCode::Up | KeyCode::Char('k') => Wish::Move(-1),
        KeyCode::PageDown => Wish::Move(PAGE),
        KeyCode::PageUp => Wish::Move(-PAGE),
        KeyCode::Home => Wish::First,
        KeyCode::End => Wish::Last,
        KeyCode::Char('s') => Wish::SortByNext,
        KeyCode::Char('r') => Wish::Reverse,
        KeyCode::Char('/') => Wish::Filter,
        KeyCode::Enter => Wish::Enter,
        KeyCode::Esc | KeyCode::Backspace => Wish::Back,
        KeyCode::Char(' ') => Wish::Pause,
        KeyCode::Char('-') => Wish::Slower,
        KeyCode::Char('+' | '=') => Wish::Faster,
        _ => return None,
    })
}
