//! The page of help.

/// A key, and what it does.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("1 2 3 4, Tab", "hosts, NICs, ranks, jobs"),
    ("up, down, PgUp, Home, ...", "move"),
    ("Enter", "look into a host, a cable with both ends, a job"),
    ("Esc", "out again; forget the filter"),
    ("s", "sort by the next column"),
    ("r", "reverse the order"),
    ("/", "show only rows that contain a text"),
    ("space", "stand still, and go on"),
    ("+ -", "look more or less often"),
    ("?", "this page"),
    ("q, Ctrl-C", "leave"),
];

/// What figures mean.
pub(crate) const MEANINGS: &[(&str, &str)] = &[
    ("busy", "share of processor time; a rank that waits may poll"),
    ("of line", "the fuller direction of a NIC, of its line rate"),
    ("errors", "damaged frames since boot; red while they grow"),
    ("dropped", "frames without room in a queue, since boot"),
    ("lost/s, resent/s", "packets held to be lost, bytes sent again"),
    ("posted", "receives that no message has matched yet"),
    ("unexpected", "messages that came before their receive"),
    ("sending", "sends that are not complete"),
];
