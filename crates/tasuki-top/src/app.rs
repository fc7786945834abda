//! What the user sees and wants, without a terminal.

use crate::{
    keys::{Wish, wish},
    rows::Grid,
    scope::Scope,
    view::View,
};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::Duration;
use tasuki_load::Load;

/// The shortest time between two looks.
pub(crate) const INTERVAL_MIN: Duration = Duration::from_millis(100);
/// The longest.
pub(crate) const INTERVAL_MAX: Duration = Duration::from_secs(60);
/// A filter has no more characters.
const FILTER_MAX: usize = 60;

/// The state of the display.
pub(crate) struct App {
    pub load: Load,
    pub view: View,
    /// The row that the cursor is on, of those shown.
    pub selected: usize,
    /// The column by which each table is sorted.
    pub sort: [usize; View::ALL.len()],
    pub reversed: bool,
    pub filter: String,
    /// Whether keys are the filter's letters.
    pub typing: bool,
    /// What is looked into, the innermost last.
    pub scopes: Vec<Scope>,
    pub paused: bool,
    pub help: bool,
    pub interval: Duration,
    pub leave: bool,
}

impl App {
    pub fn new(view: View, interval: Duration) -> Self {
        Self {
            load: Load::default(),
            view,
            selected: 0,
            sort: [0; View::ALL.len()],
            reversed: false,
            filter: String::new(),
            typing: false,
            scopes: Vec::new(),
            paused: false,
            help: false,
            interval: interval.clamp(INTERVAL_MIN, INTERVAL_MAX),
            leave: false,
        }
    }

    /// Shows what hosts do now, unless the display stands still.
    pub fn show(&mut self, load: Load) {
        if !self.paused {
            self.load = load;
        }
        self.selected = self.selected.min(self.grid().rows.len().saturating_sub(1));
    }

    /// The table that is shown.
    pub fn grid(&self) -> Grid {
        let mut grid = self.view.grid(&self.load, self.scopes.last());
        if !self.filter.is_empty() {
            grid.keep(&self.filter);
        }
        grid.sort(self.sort_column(), self.reversed);
        grid
    }

    pub fn sort_column(&self) -> usize {
        self.sort[self.view.number()]
    }

    /// Obeys a key.
    pub fn key(&mut self, key: KeyEvent) {
        if self.typing {
            self.type_key(key);
        } else if self.help {
            self.help = false;
            self.leave = wish(key) == Some(Wish::Leave);
        } else if let Some(wish) = wish(key) {
            self.obey(wish);
        }
        self.selected = self.selected.min(self.grid().rows.len().saturating_sub(1));
    }

    fn type_key(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => self.leave = true,
            KeyCode::Char(letter) if !control && self.filter.chars().count() < FILTER_MAX => {
                self.filter.push(letter);
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            _ => {}
        }
    }

    fn obey(&mut self, wish: Wish) {
        match wish {
            Wish::Leave => self.leave = true,
            Wish::Help => self.help = true,
            Wish::View(number) => self.turn_to(View::ALL[number]),
            Wish::NextView => self.turn_to(View::ALL[(self.view.number() + 1) % View::ALL.len()]),
            Wish::Move(rows) => self.selected = self.selected.saturating_add_signed(rows),
            Wish::First => self.selected = 0,
            Wish::Last => self.selected = usize::MAX,
            Wish::SortByNext => {
                let next = (self.sort_column() + 1) % self.grid().titles.len();
                self.sort[self.view.number()] = next;
            }
            Wish::Reverse => self.reversed = !self.reversed,
            Wish::Filter => self.typing = true,
            Wish::Enter => self.enter(),
            Wish::Back => self.back(),
            Wish::Pause => self.paused = !self.paused,
            Wish::Slower => self.interval = (self.interval * 2).min(INTERVAL_MAX),
            Wish::Faster => self.interval = (self.interval / 2).max(INTERVAL_MIN),
        }
    }

    fn turn_to(&mut self, view: View) {
        (self.view, self.selected) = (view, 0);
    }

    /// Looks into the row under the cursor. What is looked into already leads to the next table.
    fn enter(&mut self) {
        let grid = self.grid();
        let Some(scope) = grid.rows.get(self.selected).and_then(|row| row.leads_to.clone()) else { return };
        self.filter.clear();
        let view = match (&scope, self.view) {
            (Scope::Host(_), View::Hosts) => View::Nics,
            (Scope::Host(_), _) => View::Hosts,
            (Scope::Cable { .. }, _) => View::Nics,
            (Scope::Job { .. }, _) => View::Ranks,
        };
        if self.scopes.last() != Some(&scope) {
            self.scopes.push(scope);
        }
        self.turn_to(view);
    }

    fn back(&mut self) {
        if self.filter.is_empty() {
            self.scopes.pop();
        } else {
            self.filter.clear();
        }
        self.selected = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_load::{HostLoad, JobLoad, NicLoad, RankLoad};

    fn app() -> App {
        let host = |name: &str, busy| HostLoad { host: name.into(), busy, ..HostLoad::default() };
        let nic = |host: &str, to: &str| NicLoad {
            host: host.into(),
            nic: "eth1".into(),
            to: Some(to.into()),
            ..NicLoad::default()
        };
        let rank = |host: &str, number| RankLoad {
            host: host.into(),
            rank: Some(number),
            program: "cg".into(),
            ..RankLoad::default()
        };
        let mut app = App::new(View::Hosts, Duration::from_millis(500));
        app.show(Load {
            hosts: vec![host("n1", 0.2), host("n2", 0.9), host("n3", 0.5)],
            nics: vec![nic("n1", "n2:eth1"), nic("n2", "n1:eth1"), nic("n3", "s1:1")],
            ranks: vec![rank("n1", 0), rank("n2", 1)],
            jobs: vec![JobLoad { program: "cg".into(), ..JobLoad::default() }],
            ..Load::default()
        });
        app
    }

    fn press(app: &mut App, keys: &str) {
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                'D' => KeyCode::Down,
                letter => KeyCode::Char(letter),
            };
            app.key(KeyEvent::new(code, KeyModifiers::NONE));
        }
    }

    fn firsts(app: &App) -> Vec<String> {
        app.grid().rows.iter().map(|row| row.cells[0].plain()).collect()
    }

    #[test]
    fn tables_are_sorted_by_the_next_column_and_turned_round() {
        let mut app = app();
        press(&mut app, "s");
        assert_eq!(firsts(&app), ["n2", "n3", "n1"], "the busiest first");
        press(&mut app, "r");
        assert_eq!(firsts(&app), ["n1", "n3", "n2"]);
        press(&mut app, "2");
        assert_eq!(firsts(&app), ["n3", "n2", "n1"], "each table has a column of its own");
    }

    #[test]
    fn looking_into_a_host_a_cable_and_a_job_and_out_again() {
        let mut app = app();
        press(&mut app, "D\n");
        assert_eq!((app.view, firsts(&app)), (View::Nics, vec!["n2".to_owned()]));
        press(&mut app, "\n");
        assert_eq!(firsts(&app), ["n1", "n2"], "both ends of its cable");
        press(&mut app, "\u{1b}");
        assert_eq!(firsts(&app), ["n2"]);
        press(&mut app, "\u{1b}4\n");
        assert_eq!((app.view, firsts(&app)), (View::Ranks, vec!["0".to_owned(), "1".to_owned()]));
        press(&mut app, "1");
        assert_eq!(firsts(&app), ["n1", "n2"], "hosts of the job");
        press(&mut app, "\u{1b}");
        assert_eq!(firsts(&app).len(), 3);
    }

    #[test]
    fn a_filter_is_typed_kept_and_forgotten() {
        let mut app = app();
        press(&mut app, "/q3");
        assert!(!app.leave && app.typing, "letters are no wishes while a text is typed");
        assert!(firsts(&app).is_empty());
        press(&mut app, "\u{1b}/n3\n");
        assert_eq!((firsts(&app), app.typing), (vec!["n3".to_owned()], false));
        press(&mut app, "\u{1b}");
        assert_eq!(firsts(&app).len(), 3);
    }

    #[test]
    fn the_cursor_stays_inside_and_a_pause_keeps_what_is_shown() {
        let mut app = app();
        press(&mut app, "DDDDD");
        assert_eq!(app.selected, 2);
        press(&mut app, " ");
        app.show(Load::default());
        assert_eq!(firsts(&app).len(), 3);
        press(&mut app, " ");
        app.show(Load::default());
        assert_eq!((firsts(&app).len(), app.selected), (0, 0));
        press(&mut app, "\nDs");
        (0..20).for_each(|_| press(&mut app, "+"));
        assert_eq!(app.interval, INTERVAL_MIN);
        (0..20).for_each(|_| press(&mut app, "-"));
        assert_eq!(app.interval, INTERVAL_MAX);
        press(&mut app, "?x");
        assert!(!app.help && !app.leave, "any key leaves the page of help");
        press(&mut app, "?q");
        assert!(app.leave);
    }
}
