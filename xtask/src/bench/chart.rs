//! The picture: how many times the floor each server costs, on a log scale.

use std::fmt::Write as _;

use super::peers::Peer;
use super::report::{Row, number};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 130.0;
/// Where bars begin and end, as multiples of the floor, and the width in between.
const SCALE: (f64, f64) = (0.5, 200.0);
const ROOM: f64 = 560.0;
const BAR: f64 = 15.0;
const STEP: f64 = 18.0;
const TOP: f64 = 88.0;

/// From fast to slow, with the class that colours it.
const BARS: [(Peer, &str); 15] = [
    (Peer::Floor, "floor"),
    (Peer::FloorOrdered, "floor"),
    (Peer::FloorStored, "floor"),
    (Peer::Oxikit, "oxikit"),
    (Peer::OxikitStores, "oxikit"),
    (Peer::Tools, "oxikit"),
    (Peer::Prompts, "oxikit"),
    (Peer::GenkitJs, "js"),
    (Peer::GenkitPython, "py"),
    (Peer::OfficialManager, "js"),
    (Peer::OfficialTelemetry, "js"),
    (Peer::A2aJs03, "js"),
    (Peer::A2aJs1, "js"),
    (Peer::A2aPython, "py"),
    (Peer::NaivePrompts, "py"),
];

/// Has its own background, so that it can be read on any page.
const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#424a53;paint-order:stroke;stroke:#ffffff;stroke-width:4px}
.title{font-weight:600;fill:#1f2328}
.big{font-size:16px}
.back{fill:#ffffff}
.line{stroke:#d1d9e0}
.one{stroke:#6e7781;stroke-dasharray:3 3}
.floor{fill:#8c959f}
.oxikit{fill:#d1570a}
.js{fill:#4c8f3a}
.py{fill:#3572b0}
@media (prefers-color-scheme:dark){
text{fill:#b7bfc8;stroke:#0d1117}
.title{fill:#f0f3f6}
.back{fill:#0d1117}
.line{stroke:#30363d}
.one{stroke:#8b949e}
.oxikit{fill:#f0813a}
.js{fill:#5faa4b}
.py{fill:#4f93d8}
}";

/// Draws all rows that have a title and a floor.
pub(super) fn draw(title: &str, rows: &[Row], date: &str) -> String {
    let mut bars = String::new();
    let mut y = TOP;
    for row in rows {
        let (Some(name), Some(floor)) = (row.figure.title, row.of(Peer::Floor)) else { continue };
        _ = writeln!(bars, r#"<text class="title" x="16" y="{:.0}">{name}</text>"#, y + 12.0);
        y += 20.0;
        for (peer, class) in BARS {
            let Some(value) = row.of(peer) else { continue };
            bar(&mut bars, y, (peer, class), value, row.figure.unit, value / floor);
            y += STEP;
        }
        y += 12.0;
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{title}: oxikit \
         beside a Rust floor and Genkit\">\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n\
         <text class=\"title big\" x=\"16\" y=\"30\">{title}: shorter is better</text>\n\
         <text x=\"16\" y=\"50\">times the floor (axum and serde_json alone), log scale; \
         medians of one interleaved run, {date}</text>\n",
        height = y + 4.0,
    );
    for times in [1.0, 10.0, 100.0] {
        let (x, class) = (across(times), if times > 1.0 { "line" } else { "one" });
        _ = writeln!(
            svg,
            r#"<line class="{class}" x1="{x:.1}" x2="{x:.1}" y1="{:.0}" y2="{:.0}"/><text x="{x:.1}" y="{:.0}" text-anchor="middle">{times} ×</text>"#,
            TOP - 8.0,
            y - 8.0,
            TOP - 14.0,
        );
    }
    svg + &bars + "</svg>\n"
}

fn bar(svg: &mut String, y: f64, (peer, class): (Peer, &str), value: f64, unit: &str, times: f64) {
    let end = across(times);
    let text = y + BAR - 3.5;
    _ = writeln!(
        svg,
        r#"<text x="{:.0}" y="{text:.1}" text-anchor="end">{}</text><rect class="{class}" x="{LEFT}" y="{y:.1}" width="{:.1}" height="{BAR}" rx="2"/><text x="{:.1}" y="{text:.1}">{} {unit}</text>"#,
        LEFT - 8.0,
        peer.name(),
        end - LEFT,
        end + 6.0,
        number(value),
    );
}

fn across(times: f64) -> f64 {
    let (from, to) = SCALE;
    let share = (times.clamp(from, to) / from).ln() / (to / from).ln();
    LEFT + share * ROOM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_times_is_as_far_again() {
        let one = across(10.0) - across(1.0);
        let two = across(100.0) - across(10.0);
        assert!((one - two).abs() < 1e-6);
        assert!(across(1e9) <= WIDTH);
    }
}
