//! White space control: `~`, and tags that are alone on a line.
//!
//! `{{~` removes all white space before a tag and `~}}` all white space after it. A block tag,
//! comment or partial that is alone on its line ("standalone") removes the whole line, so that
//! templates can be laid out in lines without empty lines in the output.
//!
//! This is the pass `WhitespaceControl` of the reference. All decisions look at the text as it
//! was written (`Text::original`); only the removal looks at the text that earlier removals left
//! (`Text::value`). Inner programs are processed before the tags around them.

use std::sync::Arc;

use super::ast::{Node, Program, Strip, Text};
use super::text::is_js_space;

/// Removes white space in a whole template. It runs once, right after parsing.
pub(crate) fn control(program: &mut Program) {
    control_program(program, true);
}

/// The whitespace that a statement removes from the text around it.
#[derive(Default)]
struct WhitespaceControl {
    strip: Strip,
    /// The opening tag is followed by a line end inside of the block.
    open_standalone: bool,
    /// The end tag begins its line inside of the block.
    close_standalone: bool,
    /// Comments and partials: the whole tag may be alone on its line.
    inline_standalone: bool,
}

/// Processes the statements of one program in order. Only in the root program the start and the
/// end of the text count as line ends.
fn control_program(program: &mut Program, is_root: bool) {
    for index in 0..program.body.len() {
        let Some(control) = control_node(program, index) else {
            continue;
        };
        // Both questions are asked before `~` removes anything, although they read the original
        // text: an order that the reference has too.
        let line_before = ends_line_before(&program.body, index, is_root);
        let line_after = ends_line_after(&program.body, index, is_root);
        if control.strip.close {
            strip_all_after(&mut program.body, index);
        }
        if control.strip.open {
            strip_all_before(&mut program.body, index);
        }
        if control.inline_standalone && line_before && line_after {
            strip_line_after(&mut program.body, index);
            if strip_line_before(&mut program.body, index) {
                set_indent(&mut program.body, index);
            }
        }
        // The opening tag has a line of its own: the rest of its line is inside of the block, the
        // indentation before it is outside.
        if control.open_standalone && line_before {
            if let Some(first) = first_program(program, index) {
                strip_line_start(&mut first.body);
            }
            strip_line_before(&mut program.body, index);
        }
        // The same for the end tag, with inside and outside exchanged.
        if control.close_standalone && line_after {
            strip_line_after(&mut program.body, index);
            if let Some(last) = last_program(program, index) {
                strip_line_end(&mut last.body);
            }
        }
    }
}

/// Processes the programs inside of a statement; returns the control for the text around it, or
/// `None` for text.
fn control_node(program: &mut Program, index: usize) -> Option<WhitespaceControl> {
    match &mut program.body[index] {
        Node::Text(_) => None,
        Node::Mustache(mustache) => {
            Some(WhitespaceControl { strip: mustache.strip, ..WhitespaceControl::default() })
        }
        Node::Comment(strip) => Some(WhitespaceControl {
            strip: *strip,
            inline_standalone: true,
            ..WhitespaceControl::default()
        }),
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
            None => Some(WhitespaceControl {
                strip: partial.open_strip,
                inline_standalone: true,
                ..WhitespaceControl::default()
            }),
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

/// Control of a block with only one program.
fn control_body(program: &mut Program, open: Strip, close: Strip) -> WhitespaceControl {
    let control = WhitespaceControl {
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
    control
}

/// Control of a block with two programs. Three tags can be standalone: the opening tag, `else`
/// and the end tag.
fn control_block(block: &mut super::ast::Block) -> WhitespaceControl {
    let (open, middle, close) = (block.open_strip, block.inverse_strip, block.close_strip);
    let chained = block.chained;
    let (program, inverse) = match (unshared(&mut block.program), unshared(&mut block.inverse)) {
        (Some(program), Some(inverse)) => (program, inverse),
        (Some(only), None) | (None, Some(only)) => return control_body(only, open, close),
        (None, None) => return WhitespaceControl::default(),
    };
    let control = WhitespaceControl {
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
        // In a chain of several `else if` this is the first branch and not the one before the
        // end tag. The reference does the same.
        first_branch(inverse, chained, |branch| strip_all_end(&mut branch.body));
    }
    let else_begins_line = ends_with_line_start(&program.body);
    first_branch(inverse, chained, |branch| {
        if else_begins_line && starts_with_line_end(&branch.body) {
            strip_line_end(&mut program.body);
            strip_line_start(&mut branch.body);
        }
    });
    control
}

/// Calls `act` with the program after the first `else`. For `else if` that is the program of the
/// block inside of the inverse.
fn first_branch<T>(inverse: &mut Program, chained: bool, act: impl FnOnce(&mut Program) -> T) -> T {
    if chained
        && let Some(Node::Block(block)) = inverse.body.first_mut()
        && let Some(program) = unshared(&mut block.program)
    {
        return act(program);
    }
    act(inverse)
}

/// The program after the opening tag.
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

/// The program before the end tag.
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

/// The program for a change. `get_mut` always succeeds here, because programs are shared only
/// after parsing.
fn unshared(program: &mut Option<Arc<Program>>) -> Option<&mut Program> {
    Arc::get_mut(program.as_mut()?)
}

/// Keeps the indentation that was removed before a standalone partial, which is added to each of
/// its lines.
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

// The functions up to here decide; the next ones answer questions about the text as written.

/// Whether only white space is between the previous line end and the statement.
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

/// Whether only white space is between the statement and the next line end.
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

/// Whether the first line of a program is blank: the tag before it ends its line.
fn starts_with_line_end(body: &[Node]) -> bool {
    matches!(body.first(), Some(Node::Text(text)) if leading_blank(&text.original, false))
}

/// Whether the last line of a program is blank: the tag after it begins its line.
fn ends_with_line_start(body: &[Node]) -> bool {
    matches!(body.last(), Some(Node::Text(text)) if trailing_blank(&text.original, false))
}

/// Whether only white space is before the first line end. With `or_all`, also whether the text is
/// only white space.
fn leading_blank(text: &str, or_all: bool) -> bool {
    let rest = text.trim_start_matches(is_js_space);
    text[..text.len() - rest.len()].contains('\n') || (or_all && rest.is_empty())
}

/// Whether only white space is after the last line end. With `or_all`, also whether the text is
/// only white space.
fn trailing_blank(text: &str, or_all: bool) -> bool {
    let kept = text.trim_end_matches(is_js_space).len();
    text[kept..].contains('\n') || (or_all && kept == 0)
}

// The functions from here on remove white space. `all` removes line ends too, `line` at most one.

/// The text at an index; `None` for other statements and outside of the program.
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

/// Returns whether anything was removed.
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

    /// Removes spaces, tabs and one line end at the start, unless an earlier cut removed something
    /// there.
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

    /// Removes spaces and tabs at the end, unless an earlier cut removed something there. Returns
    /// whether anything was removed.
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
