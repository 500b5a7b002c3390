//! White space control: `~`, and block tags that have a line to themselves.
//!
//! A tag that stands alone on its line takes the line with it. All decisions
//! look at the text as it was written; only the removal looks at what earlier
//! removals left.

use std::sync::Arc;

use super::ast::{Node, Program, Strip, Text};
use super::text::is_js_space;

pub(crate) fn control(program: &mut Program) {
    control_program(program, true);
}

/// What a statement asks of the text around it.
#[derive(Default)]
struct Wish {
    strip: Strip,
    /// The opening tag is followed by a line end inside of the block.
    open_standalone: bool,
    /// The end tag begins its line inside of the block.
    close_standalone: bool,
    /// Comments and partials: the whole tag may stand alone.
    inline_standalone: bool,
}

fn control_program(program: &mut Program, is_root: bool) {
    for index in 0..program.body.len() {
        let Some(wish) = control_node(program, index) else {
            continue;
        };
        let line_before = ends_line_before(&program.body, index, is_root);
        let line_after = ends_line_after(&program.body, index, is_root);
        if wish.strip.close {
            strip_all_after(&mut program.body, index);
        }
        if wish.strip.open {
            strip_all_before(&mut program.body, index);
        }
        if wish.inline_standalone && line_before && line_after {
            strip_line_after(&mut program.body, index);
            if strip_line_before(&mut program.body, index) {
                set_indent(&mut program.body, index);
            }
        }
        if wish.open_standalone && line_before {
            if let Some(first) = first_program(program, index) {
                strip_line_start(&mut first.body);
            }
            strip_line_before(&mut program.body, index);
        }
        if wish.close_standalone && line_after {
            strip_line_after(&mut program.body, index);
            if let Some(last) = last_program(program, index) {
                strip_line_end(&mut last.body);
            }
        }
    }
}

fn control_node(program: &mut Program, index: usize) -> Option<Wish> {
    match &mut program.body[index] {
        Node::Text(_) => None,
        Node::Mustache(mustache) => Some(Wish { strip: mustache.strip, ..Wish::default() }),
        Node::Comment(strip) => {
            Some(Wish { strip: *strip, inline_standalone: true, ..Wish::default() })
        }
        Node::Block(block) => {
            if let Some(inner) = unshared(&mut block.program) {
                control_program(inner, false);
            }
            if let Some(inner) = unshared(&mut block.inverse) {
                control_program(inner, false);
            }
            Some(control_block(block))
        }
        Node::Partial(partial) => match unshared(&mut partial.program) {
            Some(body) => {
                control_program(body, false);
                Some(control_body(body, partial.open_strip, partial.close_strip))
            }
            None => {
                Some(Wish { strip: partial.open_strip, inline_standalone: true, ..Wish::default() })
            }
        },
        Node::Inline(at) => {
            let inline = program.inlines.get_mut(*at)?;
            let (open, close) = (inline.open_strip, inline.close_strip);
            let body = Arc::get_mut(&mut inline.program)?;
            control_program(body, false);
            Some(control_body(body, open, close))
        }
    }
}

/// A block with only one program.
fn control_body(program: &mut Program, open: Strip, close: Strip) -> Wish {
    let wish = Wish {
        strip: Strip { open: open.open, close: close.close },
        open_standalone: starts_with_line_end(&program.body),
        close_standalone: ends_with_line_start(&program.body),
        inline_standalone: false,
    };
    if open.close {
        strip_all_start(&mut program.body);
    }
    if close.open {
        strip_all_end(&mut program.body);
    }
    wish
}

fn control_block(block: &mut super::ast::Block) -> Wish {
    let (open, middle, close) = (block.open_strip, block.inverse_strip, block.close_strip);
    let chained = block.chained;
    let (program, inverse) = match (unshared(&mut block.program), unshared(&mut block.inverse)) {
        (Some(program), Some(inverse)) => (program, inverse),
        (Some(only), None) | (None, Some(only)) => return control_body(only, open, close),
        (None, None) => return Wish::default(),
    };
    let wish = Wish {
        strip: Strip { open: open.open, close: close.close },
        open_standalone: starts_with_line_end(&program.body),
        close_standalone: first_branch(inverse, chained, |branch| {
            ends_with_line_start(&branch.body)
        }),
        inline_standalone: false,
    };
    if open.close {
        strip_all_start(&mut program.body);
    }
    if middle.open {
        strip_all_end(&mut program.body);
    }
    if middle.close {
        first_branch(inverse, chained, |branch| strip_all_start(&mut branch.body));
    }
    if close.open {
        // The reference stops at the first `else if` too.
        first_branch(inverse, chained, |branch| strip_all_end(&mut branch.body));
    }
    let else_begins_line = ends_with_line_start(&program.body);
    first_branch(inverse, chained, |branch| {
        if else_begins_line && starts_with_line_end(&branch.body) {
            strip_line_end(&mut program.body);
            strip_line_start(&mut branch.body);
        }
    });
    wish
}

/// The program after the first `else`: inside the block that `else if` makes.
fn first_branch<T>(inverse: &mut Program, chained: bool, act: impl FnOnce(&mut Program) -> T) -> T {
    if chained
        && let Some(Node::Block(block)) = inverse.body.first_mut()
        && let Some(program) = unshared(&mut block.program)
    {
        return act(program);
    }
    act(inverse)
}

fn first_program(program: &mut Program, index: usize) -> Option<&mut Program> {
    match &mut program.body[index] {
        Node::Block(block) => {
            let slot =
                if block.program.is_some() { &mut block.program } else { &mut block.inverse };
            unshared(slot)
        }
        Node::Partial(partial) => unshared(&mut partial.program),
        Node::Inline(at) => Arc::get_mut(&mut program.inlines.get_mut(*at)?.program),
        _ => None,
    }
}

fn last_program(program: &mut Program, index: usize) -> Option<&mut Program> {
    if let Node::Block(block) = &program.body[index]
        && block.inverse.is_none()
    {
        return first_program(program, index);
    }
    match &mut program.body[index] {
        Node::Block(block) => unshared(&mut block.inverse),
        Node::Partial(partial) => unshared(&mut partial.program),
        Node::Inline(at) => Arc::get_mut(&mut program.inlines.get_mut(*at)?.program),
        _ => None,
    }
}

/// Nothing shares a program before parsing is done.
fn unshared(program: &mut Option<Arc<Program>>) -> Option<&mut Program> {
    Arc::get_mut(program.as_mut()?)
}

fn set_indent(body: &mut [Node], index: usize) {
    let Some(Node::Text(before)) = body.get(index.wrapping_sub(1)) else {
        return;
    };
    let kept = before.original.trim_end_matches([' ', '\t']).len();
    let indent = before.original[kept..].to_owned();
    if let Node::Partial(partial) = &mut body[index] {
        partial.indent = indent;
    }
}

// Questions about the text as written.

fn ends_line_before(body: &[Node], index: usize, is_root: bool) -> bool {
    match index.checked_sub(1).map(|before| &body[before]) {
        None => is_root,
        Some(Node::Text(text)) => {
            let is_first = is_root && index == 1;
            trailing_blank(&text.original, is_first)
        }
        Some(_) => false,
    }
}

fn ends_line_after(body: &[Node], index: usize, is_root: bool) -> bool {
    match body.get(index + 1) {
        None => is_root,
        Some(Node::Text(text)) => {
            let is_last = is_root && index + 2 == body.len();
            leading_blank(&text.original, is_last)
        }
        Some(_) => false,
    }
}

fn starts_with_line_end(body: &[Node]) -> bool {
    matches!(body.first(), Some(Node::Text(text)) if leading_blank(&text.original, false))
}

fn ends_with_line_start(body: &[Node]) -> bool {
    matches!(body.last(), Some(Node::Text(text)) if trailing_blank(&text.original, false))
}

/// Only white space before the first line end, or at all.
fn leading_blank(text: &str, or_all: bool) -> bool {
    let rest = text.trim_start_matches(is_js_space);
    text[..text.len() - rest.len()].contains('\n') || (or_all && rest.is_empty())
}

/// Only white space after the last line end, or at all.
fn trailing_blank(text: &str, or_all: bool) -> bool {
    let kept = text.trim_end_matches(is_js_space).len();
    text[kept..].contains('\n') || (or_all && kept == 0)
}

// Removal.

fn text_at(body: &mut [Node], index: Option<usize>) -> Option<&mut Text> {
    match body.get_mut(index?)? {
        Node::Text(text) => Some(text),
        _ => None,
    }
}

fn strip_all_after(body: &mut [Node], index: usize) {
    text_at(body, Some(index + 1)).map(Text::strip_all_start);
}

fn strip_all_before(body: &mut [Node], index: usize) {
    text_at(body, index.checked_sub(1)).map(Text::strip_all_end);
}

fn strip_line_after(body: &mut [Node], index: usize) {
    text_at(body, Some(index + 1)).map(Text::strip_line_start);
}

fn strip_line_before(body: &mut [Node], index: usize) -> bool {
    text_at(body, index.checked_sub(1)).is_some_and(Text::strip_line_end)
}

fn strip_all_start(body: &mut [Node]) {
    text_at(body, Some(0)).map(Text::strip_all_start);
}

fn strip_all_end(body: &mut [Node]) {
    let last = body.len().checked_sub(1);
    text_at(body, last).map(Text::strip_all_end);
}

fn strip_line_start(body: &mut [Node]) {
    text_at(body, Some(0)).map(Text::strip_line_start);
}

fn strip_line_end(body: &mut [Node]) {
    let last = body.len().checked_sub(1);
    text_at(body, last).map(Text::strip_line_end);
}

impl Text {
    fn strip_all_start(&mut self) {
        let kept = self.value().trim_start_matches(is_js_space).len();
        self.cut_start(self.to - kept);
    }

    fn strip_all_end(&mut self) {
        let kept = self.value().trim_end_matches(is_js_space).len();
        self.cut_end(self.from + kept);
    }

    /// Blanks and one line end, unless the start was cut before.
    fn strip_line_start(&mut self) {
        if self.stripped_right {
            return;
        }
        let rest = self.value().trim_start_matches([' ', '\t']);
        let rest = rest.strip_prefix('\r').unwrap_or(rest);
        let rest = rest.strip_prefix('\n').unwrap_or(rest);
        let kept = rest.len();
        self.cut_start(self.to - kept);
    }

    /// Blanks at the end, unless it was cut before; tells whether there were any.
    fn strip_line_end(&mut self) -> bool {
        if self.stripped_left {
            return false;
        }
        let kept = self.value().trim_end_matches([' ', '\t']).len();
        self.cut_end(self.from + kept);
        self.stripped_left
    }

    fn cut_start(&mut self, from: usize) {
        self.stripped_right = from != self.from;
        self.from = from;
    }

    fn cut_end(&mut self, to: usize) {
        self.stripped_left = to != self.to;
        self.to = to;
    }
}
