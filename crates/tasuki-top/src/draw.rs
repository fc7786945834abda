//! Drawing on a terminal.

use crate::{
    app::App,
    columns::{Cell, Mark},
    help::{KEYS, MEANINGS},
    rows::{GAP, Grid, PERCENT, Row},
    view::View,
};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Clear, Paragraph, Wrap},
};
use tasuki_terminal::in_a_line;

/// Characters of a bar beside a share, with the blank before it.
const BAR: usize = 9;
/// A terminal with fewer columns gets no bars.
const BARS_FROM: u16 = 100;
/// Lines that tell of lost hosts.
const LOST_LINES: usize = 4;
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);

/// Draws everything.
pub(crate) fn draw(frame: &mut Frame, app: &App) {
    let lost = lost(app);
    let lost_height = u16::try_from(lost.len()).unwrap_or(u16::MAX);
    let parts =
        [Constraint::Length(2), Constraint::Length(lost_height), Constraint::Min(3), Constraint::Length(1)];
    let [head, warnings, body, foot] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(vec![title(app), tabs(app)]), head);
    frame.render_widget(Paragraph::new(lost), warnings);
    grid(frame, app, body);
    frame.render_widget(Paragraph::new(foot_line(app)), foot);
    if app.help {
        help(frame);
    }
}

fn title(app: &App) -> Line<'static> {
    let scopes: String = app.scopes.iter().map(|scope| format!(" > {}", scope.title())).collect();
    let load = &app.load;
    let awaited = match load.awaited.len() {
        0 => String::new(),
        count => format!(", {count} not answered yet"),
    };
    let pause = if app.paused { "  STANDING STILL: space goes on" } else { "" };
    let counts = format!(
        "  {} hosts{awaited}, {} ranks, every {} s",
        load.hosts.len(),
        load.ranks.len(),
        app.interval.as_secs_f64()
    );
    Line::from(vec![
        Span::styled(text(&format!("{}{scopes}", load.title)), STRONG),
        Span::raw(counts),
        Span::styled(pause, Style::new().fg(Color::Yellow)),
    ])
}

fn tabs(app: &App) -> Line<'static> {
    let tab = |view: View| {
        let name = format!(" {} {} ", view.number() + 1, view.name());
        let style = if view == app.view { STRONG.add_modifier(Modifier::REVERSED) } else { Style::new() };
        [Span::styled(name, style), Span::raw(" ")]
    };
    Line::from(View::ALL.into_iter().flat_map(tab).collect::<Vec<_>>())
}

/// Hosts that do not answer, and what could not be read.
fn lost(app: &App) -> Vec<Line<'static>> {
    let lost = app.load.lost.iter().map(|lost| format!("{}: {}", lost.host, lost.why));
    let all: Vec<String> = lost.chain(app.load.problems.iter().cloned()).collect();
    let style = Style::new().fg(Color::Red);
    let mut lines: Vec<Line> =
        all.iter().take(LOST_LINES).map(|said| Line::styled(text(said), style)).collect();
    if all.len() > LOST_LINES {
        lines.push(Line::styled(format!("and {} more", all.len() - LOST_LINES), style));
    }
    lines
}

fn foot_line(app: &App) -> Line<'static> {
    if app.typing {
        return Line::from(format!("rows with: {}_   Enter keeps it, Esc forgets it", text(&app.filter)));
    }
    let filter = match app.filter.as_str() {
        "" => String::new(),
        filter => format!("rows with {:?} only  ", text(filter)),
    };
    Line::from(vec![
        Span::styled(filter, Style::new().fg(Color::Yellow)),
        Span::styled("Enter look into  Esc out  s sort  / filter  space pause  ? help  q leave", FAINT),
    ])
}

fn grid(frame: &mut Frame, app: &App, area: Rect) {
    let grid = app.grid();
    let bar = if area.width >= BARS_FROM { BAR } else { 0 };
    let columns = grid.fit(area.width.into(), bar);
    let height = usize::from(area.height.saturating_sub(1));
    let first = app.selected.saturating_sub(height.saturating_sub(1));
    let mut lines = vec![header(&grid, &columns, app)];
    if grid.rows.is_empty() {
        let why = if app.filter.is_empty() { app.view.nothing() } else { "no row contains this text" };
        lines.push(Line::styled(why, FAINT));
    }
    let shown = grid.rows.iter().enumerate().skip(first).take(height);
    lines.extend(shown.map(|(number, row)| line(row, &columns, bar, number == app.selected)));
    frame.render_widget(Paragraph::new(lines), area);
}

fn header(grid: &Grid, columns: &[(usize, usize)], app: &App) -> Line<'static> {
    let title = |&(column, width): &(usize, usize)| {
        let is_right = grid.rows.first().is_some_and(|row| row.cells[column].is_right());
        let title = grid.titles[column];
        let padded = if is_right {
            format!("{title:>width$}{:GAP$}", "")
        } else {
            format!("{title:<width$}{:GAP$}", "")
        };
        let style =
            if column == app.sort_column() { STRONG.add_modifier(Modifier::UNDERLINED) } else { STRONG };
        Span::styled(padded, style)
    };
    Line::from(columns.iter().map(title).collect::<Vec<_>>())
}

fn line(row: &Row, columns: &[(usize, usize)], bar: usize, is_selected: bool) -> Line<'static> {
    let cell = |&(column, width): &(usize, usize)| {
        let shown = match &row.cells[column] {
            Cell::Share(share) if bar > 0 => {
                format!("{:>PERCENT$}{}", row.cells[column].plain(), gauge(*share))
            }
            cell => text(&cell.plain()),
        };
        let is_right = row.cells[column].is_right();
        let padded = if is_right {
            format!("{shown:>width$}{:GAP$}", "")
        } else {
            format!("{shown:<width$}{:GAP$}", "")
        };
        Span::styled(padded, colour(row.marks[column]))
    };
    let style = if is_selected { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
    Line::from(columns.iter().map(cell).collect::<Vec<_>>()).style(style)
}

/// A bar of [`BAR`] characters, the first of which is a blank.
fn gauge(share: f64) -> String {
    let length = BAR - 1;
    let full = (share.clamp(0.0, 1.0) * length as f64).round() as usize;
    format!(" {}{}", "█".repeat(full), "░".repeat(length - full))
}

fn colour(mark: Mark) -> Style {
    match mark {
        Mark::Plain => Style::new(),
        Mark::Doubtful => Style::new().fg(Color::Yellow),
        Mark::Bad => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
    }
}

fn help(frame: &mut Frame) {
    let width = KEYS.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    let row = |(name, what): &(&str, &str)| {
        Line::from(vec![Span::styled(format!("{name:width$}  "), STRONG), Span::raw((*what).to_owned())])
    };
    let lines: Vec<Line> =
        KEYS.iter().map(row).chain([Line::default()]).chain(MEANINGS.iter().map(row)).collect();
    let area = frame.area();
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(" tasuki top: any key goes back ");
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

/// A text from elsewhere, without a character that a terminal would obey.
fn text(text: &str) -> String {
    in_a_line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::{Terminal, backend::TestBackend};
    use std::time::Duration;
    use tasuki_load::{HostLoad, Load, Lost, NicLoad};

    /// What stands on a terminal of that size.
    fn drawn(app: &App, columns: u16, rows: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
        terminal.draw(|frame| draw(frame, app)).expect("draws");
        let buffer = terminal.backend().buffer().clone();
        let line =
            |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..rows).map(line).collect()
    }

    fn app(view: View) -> App {
        let mut app = App::new(view, Duration::from_secs(1));
        let host = |name: &str| HostLoad { host: name.into(), busy: 0.5, sent: 12e6, ..HostLoad::default() };
        let nic = NicLoad { host: "n1".into(), nic: "eth1".into(), ..NicLoad::default() };
        app.show(Load {
            title: "lab four".into(),
            hosts: (1..=40).map(|number| host(&format!("n{number}"))).collect(),
            nics: vec![nic],
            lost: vec![Lost { host: "n41".into(), why: "it does not answer any more".into() }],
            ..Load::default()
        });
        app
    }

    #[test]
    fn every_terminal_shows_where_one_is_and_what_is_wrong() {
        for (columns, rows) in [(120, 30), (80, 24), (40, 10)] {
            let lines = drawn(&app(View::Nics), columns, rows);
            assert!(lines[0].starts_with("lab four  40 hosts"), "{lines:#?}");
            assert_eq!(lines[2], "n41: it does not answer any more");
            assert!(lines[4].starts_with("n1    eth1  DOWN"), "{lines:#?}");
        }
        drawn(&app(View::Hosts), 1, 1);
    }

    #[test]
    fn the_cursor_is_always_on_the_terminal() {
        let mut app = app(View::Hosts);
        app.selected = 39;
        let lines = drawn(&app, 80, 12);
        let last = lines.iter().rev().nth(1).expect("a row");
        assert!(last.starts_with("n40 "), "{lines:#?}");
    }

    #[test]
    fn bars_are_as_long_as_shares() {
        assert_eq!(gauge(0.0), " ░░░░░░░░");
        assert_eq!(gauge(0.5), " ████░░░░");
        assert_eq!(gauge(7.0), " ████████");
        let line = drawn(&app(View::Hosts), 120, 30).remove(4);
        assert!(line.starts_with("n1     50 % ████░░░░"), "{line}");
    }

    #[test]
    fn a_name_cannot_command_the_terminal() {
        let mut app = app(View::Hosts);
        app.load.hosts[0].host = "n\u{1b}]0;owned\u{7}\u{202e}".into();
        let shown = drawn(&app, 120, 60).join("\n");
        assert!(shown.contains("n\\u{1b}]0;owned\\u{7}\\u{202e}"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']));
    }

    #[test]
    fn the_page_of_help_fits_80_columns_and_24_lines() {
        let mut app = app(View::Hosts);
        app.help = true;
        let shown = drawn(&app, 80, 24);
        for (name, what) in KEYS.iter().chain(MEANINGS) {
            assert!(
                shown.iter().any(|line| line.contains(name) && line.contains(what)),
                "{name}: {shown:#?}"
            );
        }
    }
}
