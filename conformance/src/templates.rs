//! Random templates that look like templates, with input to match.

use oxikit_wire::JsonObject;
use serde_json::{Value, json};

use crate::random::Random;

/// A template and all it is rendered with.
pub(crate) struct Sample {
    pub(crate) template: String,
    pub(crate) input: JsonObject,
    /// The `@` variables.
    pub(crate) data: JsonObject,
    pub(crate) partials: JsonObject,
}

const KEYS: &[&str] = &[
    "a",
    "b",
    "c",
    "name",
    "list",
    "items",
    "obj",
    "flag",
    "n",
    "a-b",
    "with space",
    "ü",
    "length",
];
const WORDS: &[&str] = &[
    "x",
    "Hello",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    " \n",
    "\n  ",
    ", ",
    "- ",
    "{",
    "}",
    "é日",
    "\\",
    "text\n",
    "a b\n c",
    "\u{a0}",
    "\"q\"",
    "0",
    "<b>&",
    "~",
    "line one\nline two\n",
];
const PARTIALS: &[&str] = &["p", "q", "r/s", "t-u"];
/// What a slip of the finger may put anywhere.
const SLIPS: &[&str] = &[
    "{", "}", "{{", "}}", "~", "#", "/", "^", ">", "|", "(", ")", "=", ".", "..", "@", "\"", "'",
    " ", "\n", "!", "--", "\\", "[", "]", "else", "as |x|", "this", "&", "0", "-1",
];

pub(crate) fn sample(random: &mut Random) -> Sample {
    let mut partials = JsonObject::new();
    for name in PARTIALS {
        if random.chance(95) {
            let mut body = Writer::new(random, 2).whole();
            // The reference would notice a broken partial only when it gets there.
            if crate::oracle::environment().compile_template(&body).is_err() {
                body = "broken".to_owned();
            }
            partials.insert((*name).to_owned(), body.into());
        }
    }
    let depth = 1 + random.below(4);
    let mut template = Writer::new(random, depth).whole();
    if random.chance(12) {
        let whole = template.clone();
        slip(random, &mut template);
        // Decorators are not there, whether or not they would be reached.
        if template.contains("{{*") || template.contains("{{~*") {
            template = whole;
        }
    }
    Sample { input: object(random, 3), data: object(random, 2), template, partials }
}

/// Adds, removes or doubles a little, so that some templates are broken.
fn slip(random: &mut Random, template: &mut String) {
    for _ in 0..=random.below(2) {
        let starts: Vec<usize> = template.char_indices().map(|(at, _)| at).collect();
        if starts.is_empty() {
            return;
        }
        let at = starts[random.below(starts.len())];
        if random.chance(50) {
            template.insert_str(at, random.pick(SLIPS));
        } else {
            template.remove(at);
        }
    }
}

fn object(random: &mut Random, depth: usize) -> JsonObject {
    let mut object = JsonObject::new();
    for key in KEYS {
        if random.chance(60) {
            object.insert((*key).to_owned(), value(random, depth));
        }
    }
    object
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 9 } else { 14 }) {
        0 => Value::Null,
        1 => random.chance(50).into(),
        2 => json!(random.below(3)),
        3 => json!(-(random.below(20) as i64)),
        4 => json!(random.below(1000) as f64 / 8.0),
        5 => json!(random.pick(&[&1e21, &1.5e-7, &0.1, &123456789.125, &1e-6, &-0.0])),
        6 => json!(""),
        7 | 8 => {
            json!(random.pick(&[
                "s",
                "two words",
                "p",
                "q",
                "é日\u{1F600}",
                "1",
                "<&>",
                "l1\nl2",
                "{{a}}"
            ]))
        }
        9..=11 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        12 => json!({}),
        _ => object(random, depth - 1).into(),
    }
}

/// Writes one template.
struct Writer<'r> {
    random: &'r mut Random,
    out: String,
    depth: usize,
    /// Block parameters in scope.
    params: Vec<String>,
    /// Inline partials that were written so far.
    inlines: Vec<String>,
    /// Whether an inline partial may have the name of a registered one.
    may_override: bool,
}

impl<'r> Writer<'r> {
    fn new(random: &'r mut Random, depth: usize) -> Self {
        Self {
            random,
            out: String::new(),
            depth,
            params: Vec::new(),
            inlines: Vec::new(),
            may_override: true,
        }
    }

    fn whole(mut self) -> String {
        self.body();
        self.out
    }

    fn body(&mut self) {
        for _ in 0..self.random.below(4) + usize::from(self.depth > 2) {
            self.statement();
        }
    }

    fn statement(&mut self) {
        let choice = self.random.below(if self.depth == 0 { 50 } else { 100 });
        match choice {
            0..20 => self.text(),
            20..36 => self.mustache(),
            36..40 => self.comment(),
            40..48 => self.partial(),
            48 => self.push("\\{{a}}"),
            49 => self.push("\\\\{{a}}"),
            _ if self.random.chance(50) => self.own_line(Self::block),
            _ => self.block(),
        }
    }

    /// A tag that may have its line to itself.
    fn own_line(&mut self, write: fn(&mut Self)) {
        let indent = self.random.pick(&["", "  ", "\t"]);
        self.push("\n");
        self.push(indent);
        write(self);
        self.push("\n");
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn text(&mut self) {
        for _ in 0..=self.random.below(3) {
            let word = self.random.pick(WORDS);
            self.push(word);
        }
    }

    /// `{{` or `{{~` and the like, and its end.
    fn tag(&mut self, kind: &str, inner: &str) {
        let left = if self.random.chance(12) { "~" } else { "" };
        let right = if self.random.chance(12) { "~" } else { "" };
        let space = match inner.ends_with("--") {
            true => "",
            false => self.random.pick(&["", "", " ", "\n"]),
        };
        self.out.push_str(&format!("{{{{{left}{kind}{inner}{space}{right}}}}}"));
    }

    fn comment(&mut self) {
        let (kind, inner) = match self.random.below(3) {
            0 => ("!", " note"),
            1 => ("!", "-- note }} more --"),
            _ => ("!", "--~--"),
        };
        let before = self.random.pick(&["", "\n", "\n  "]);
        self.push(before);
        self.tag(kind, inner);
        let after = self.random.pick(&["", "\n", " \n"]);
        self.push(after);
    }

    fn mustache(&mut self) {
        let inner = self.value_call();
        match self.random.below(8) {
            0 => {
                let left = self.random.pick(&["", "~"]);
                let right = self.random.pick(&["", "~"]);
                self.out.push_str(&format!("{{{{{left}{{{inner}}}{right}}}}}"));
            }
            1 => self.tag("&", &inner),
            _ => self.tag("", &inner),
        }
    }

    /// What may stand in a mustache: a path or a helper that has a value.
    fn value_call(&mut self) -> String {
        match self.random.below(12) {
            0 => format!("lookup {} {}", self.expr(), self.expr()),
            1 => format!("json {}", self.expr()),
            2 => format!("json {} indent={}", self.expr(), self.random.below(4)),
            3 => format!("tag {}{}", self.expr(), self.hash()),
            4 => format!("log {}", self.expr()),
            5 if self.random.chance(20) => format!("unknown {}", self.expr()),
            _ => self.path(),
        }
    }

    fn hash(&mut self) -> String {
        let mut hash = String::new();
        for _ in 0..self.random.below(3) {
            let key = self.random.pick(&["a", "b", "name", "k", "[with space]"]);
            hash.push_str(&format!(" {key}={}", self.expr()));
        }
        hash
    }

    fn expr(&mut self) -> String {
        match self.random.below(14) {
            0 => format!("\"{}\"", self.random.pick(&["a", "name", "it's", "x \\\" y", ""])),
            1 => format!("'{}'", self.random.pick(&["b", "list", "say \"hi\"", "0"])),
            2 => self.random.pick(&["0", "1", "-1", "2.50", "12"]).to_owned(),
            3 => self.random.pick(&["true", "false", "null", "undefined"]).to_owned(),
            4 => format!("(lookup {} {})", self.path(), self.path()),
            5 if self.random.chance(50) => format!("(json {})", self.path()),
            5 => format!("(tag {}{})", self.path(), self.hash()),
            _ => self.path(),
        }
    }

    fn path(&mut self) -> String {
        if !self.params.is_empty() && self.random.chance(30) {
            let name = self.params[self.random.below(self.params.len())].clone();
            return name + self.random.pick(&["", "", ".a", ".length"]);
        }
        let start = self.random.pick(&[
            "", "", "", "", "", "../", "../", "../../", "./", "this.", "this/", "@root.", "@",
            "@../",
        ]);
        if start.starts_with('@') && self.random.chance(50) {
            let name = self.random.pick(&["index", "key", "first", "last"]);
            return format!("@{}{name}", self.random.pick(&["", "", "../"]));
        }
        if start.is_empty() && self.random.chance(15) {
            return self.random.pick(&[".", "this", "..", "../..", "@root"]).to_owned();
        }
        let mut path = format!("{start}{}", self.segment());
        while self.random.chance(25) {
            path.push_str(self.random.pick(&[".", ".", "/"]));
            path.push_str(&self.segment());
        }
        path
    }

    fn segment(&mut self) -> String {
        match self.random.below(10) {
            0 => self.random.pick(&["[0]", "[1]", "[this]", "[a]", "[b\\]]"]).to_owned(),
            _ => {
                let key = self.random.pick(KEYS);
                if key.contains(' ') { format!("[{key}]") } else { key.to_owned() }
            }
        }
    }

    fn partial_name(&mut self) -> String {
        if !self.inlines.is_empty() && self.random.chance(50) {
            return self.inlines[self.random.below(self.inlines.len())].clone();
        }
        self.random.pick(PARTIALS).to_owned()
    }

    fn partial(&mut self) {
        let name = match self.random.below(12) {
            0 if self.random.chance(50) => "@partial-block".to_owned(),
            1 => format!("\"{}\"", self.partial_name()),
            2 if self.random.chance(50) => format!("(lookup {} 'name')", self.path()),
            3 if self.random.chance(20) => "missing".to_owned(),
            _ => self.partial_name(),
        };
        let context =
            if self.random.chance(25) { format!(" {}", self.expr()) } else { String::new() };
        let inner = format!(" {name}{context}{}", self.hash());
        let (before, after) = match self.random.below(4) {
            0 => ("\n  ", "\n"),
            1 => ("\n", "\n"),
            _ => ("", ""),
        };
        self.push(before);
        self.tag(">", &inner);
        self.push(after);
    }

    fn block(&mut self) {
        self.depth -= 1;
        match self.random.below(20) {
            0..10 => self.helper_block(),
            10..14 => self.section(),
            14 | 15 => self.partial_block(),
            16 | 17 => self.inline(),
            18 => self.raw_block(),
            _ => self.helper_block(),
        }
        self.depth += 1;
    }

    /// The condition of a helper block, and the block parameters it can give.
    fn condition(&mut self) -> (&'static str, String, usize) {
        match self.random.below(12) {
            0..3 => ("if", self.expr(), 0),
            3 => ("if", format!("{} includeZero=true", self.expr()), 0),
            4 => ("unless", self.expr(), 0),
            5 => ("ifEquals", format!("{} {}", self.expr(), self.expr()), 0),
            6 => ("unlessEquals", format!("{} {}", self.expr(), self.expr()), 0),
            7 => ("with", self.expr(), 1),
            8 if self.random.chance(10) => ("lookup", format!("{} 'a'", self.path()), 0),
            _ => ("each", self.expr(), 2),
        }
    }

    fn helper_block(&mut self) {
        let (name, args, gives) = self.condition();
        let params = self.take_params(gives);
        self.tag("#", &format!("{name} {args}{}", as_clause(&params)));
        self.scoped_body(params);
        while name != "each" && self.random.chance(15) {
            let (other, args, gives) = self.condition();
            let params = self.take_params(gives);
            self.line_or_not(|writer| {
                writer.tag("", &format!("else {other} {args}{}", as_clause(&params)));
            });
            self.scoped_body(params);
        }
        self.maybe_else();
        self.tag("/", name);
    }

    fn take_params(&mut self, gives: usize) -> Vec<String> {
        if gives == 0 || self.random.chance(60) {
            return Vec::new();
        }
        let names = ["v", "k", "name"];
        let first = self.random.below(2);
        (first..=first + self.random.below(gives)).map(|index| names[index].to_owned()).collect()
    }

    fn scoped_body(&mut self, params: Vec<String>) {
        let outer = self.params.len();
        self.params.extend(params);
        self.body();
        self.params.truncate(outer);
    }

    fn line_or_not(&mut self, write: impl FnOnce(&mut Self)) {
        let is_line = self.random.chance(50);
        if is_line {
            let indent = self.random.pick(&["\n", "\n  "]);
            self.push(indent);
        }
        write(self);
        if is_line {
            self.push("\n");
        }
    }

    fn maybe_else(&mut self) {
        if self.random.chance(30) {
            let word = self.random.pick(&["else", " else ", "^"]);
            self.line_or_not(|writer| writer.tag("", word));
            self.body();
        }
    }

    fn section(&mut self) {
        let path = self.path();
        let kind = self.random.pick(&["#", "#", "^"]);
        let opening = if kind == "^" && path.is_empty() { "a".to_owned() } else { path };
        self.tag(kind, &opening);
        self.body();
        self.maybe_else();
        self.tag("/", &opening.replace(['[', ']', '\\'], ""));
    }

    fn partial_block(&mut self) {
        let name = match self.random.below(4) {
            0 => "missing".to_owned(),
            1 => "@partial-block".to_owned(),
            _ => self.partial_name(),
        };
        let hash = self.hash();
        self.tag("#>", &format!(" {name}{hash}"));
        // Whether the reference lets it win there depends on what ran before.
        let outer = std::mem::replace(&mut self.may_override, false);
        if self.random.chance(30) {
            self.inline();
        }
        self.body();
        self.may_override = outer;
        self.tag("/", &name);
    }

    fn inline(&mut self) {
        let names: &[&str] = if self.may_override { &["i", "j", "p"] } else { &["i", "j"] };
        let name = self.random.pick(names);
        self.tag("#*", &format!("inline \"{name}\""));
        // The reference loses track of outer block parameters in here.
        let params = std::mem::take(&mut self.params);
        self.body();
        self.params = params;
        self.tag("/", "inline");
        self.inlines.push(name.to_owned());
    }

    fn raw_block(&mut self) {
        let (name, args) = match self.random.below(3) {
            0 => ("if", " true"),
            1 => ("a", ""),
            _ => ("with", " obj"),
        };
        let body = self.random.pick(&[" {{a}} ", "\n{{#if}}\n", "{{{{x}}}} y {{{{/x}}}}", ""]);
        self.push(&format!("{{{{{{{{{name}{args}}}}}}}}}{body}{{{{{{{{/{name}}}}}}}}}"));
    }
}

fn as_clause(params: &[String]) -> String {
    if params.is_empty() {
        return String::new();
    }
    format!(" as |{}|", params.join(" "))
}
