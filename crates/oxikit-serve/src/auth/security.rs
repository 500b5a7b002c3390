//! The demands of a context provider on callers, in a form that cards and OpenAPI documents show.

use std::collections::BTreeMap;

use oxikit_wire::a2a::SecurityScheme;

/// The security schemes of a [`ContextProvider`](crate::ContextProvider) and how they combine.
///
/// Cards of A2A agents and the OpenAPI document are made of it. The default declares nothing.
///
/// ```
/// use oxikit_serve::{Security, SecurityScheme};
///
/// let key = |name: &str| SecurityScheme::ApiKey {
///     description: None,
///     location: "header".to_owned(),
///     name: name.to_owned(),
/// };
/// let either = Security::of("user", key("X-User")).or(Security::of("robot", key("X-Robot")));
/// assert_eq!(either.requirements().len(), 2);
/// let both = Security::of("user", key("X-User")).and(Security::of("robot", key("X-Robot")));
/// assert_eq!(both.requirements()[0].len(), 2);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Security {
    schemes: BTreeMap<String, SecurityScheme>,
    requirements: Vec<Requirement>,
}

/// Scopes by the names of the schemes that a caller must present together.
type Requirement = BTreeMap<String, Vec<String>>;

impl Security {
    /// One scheme under this name.
    pub fn of(name: impl Into<String>, scheme: SecurityScheme) -> Self {
        let name = name.into();
        let requirement = BTreeMap::from([(name.clone(), Vec::new())]);
        Self { schemes: BTreeMap::from([(name, scheme)]), requirements: vec![requirement] }
    }

    /// The schemes by name.
    pub fn schemes(&self) -> &BTreeMap<String, SecurityScheme> {
        &self.schemes
    }

    /// The alternatives: a caller must satisfy one of them. Each has the names of schemes that are
    /// presented together, with their scopes.
    pub fn requirements(&self) -> &[BTreeMap<String, Vec<String>>] {
        &self.requirements
    }

    /// A caller satisfies this one or the other one.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        for requirement in self.take_in(other) {
            if !self.requirements.contains(&requirement) {
                self.requirements.push(requirement);
            }
        }
        self
    }

    /// A caller satisfies both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let others = self.take_in(other);
        if self.requirements.is_empty() || others.is_empty() {
            self.requirements.extend(others);
            return self;
        }
        let own = std::mem::take(&mut self.requirements);
        for left in &own {
            for right in &others {
                let mut both = left.clone();
                for (name, scopes) in right {
                    add_scopes(both.entry(name.clone()).or_default(), scopes);
                }
                self.requirements.push(both);
            }
        }
        self
    }

    /// Demands scopes in every alternative. They are listed at the tokens of an alternative; if it
    /// has none, at its other schemes.
    #[must_use]
    pub fn with_scopes(mut self, scopes: &[String]) -> Self {
        let has_scopes = |name: &String| self.schemes.get(name).is_some_and(is_token);
        for requirement in &mut self.requirements {
            let has_tokens = requirement.keys().any(has_scopes);
            for (name, listed) in requirement.iter_mut() {
                if !has_tokens || has_scopes(name) {
                    add_scopes(listed, scopes);
                }
            }
        }
        self
    }

    /// Adds the schemes of another one, and answers its requirements. A name that another scheme
    /// has already gets a number.
    fn take_in(&mut self, other: Self) -> Vec<Requirement> {
        let mut renamed = BTreeMap::new();
        for (name, scheme) in other.schemes {
            let numbered = (2..).map(|number| format!("{name}{number}"));
            let free = std::iter::once(name.clone())
                .chain(numbered)
                .find(|name| self.schemes.get(name).is_none_or(|own| *own == scheme));
            let free = free.unwrap_or_else(|| name.clone());
            self.schemes.insert(free.clone(), scheme);
            renamed.insert(name, free);
        }
        let rename = |(name, scopes)| (renamed.get(&name).cloned().unwrap_or(name), scopes);
        let requirements = other.requirements.into_iter();
        requirements.map(|requirement| requirement.into_iter().map(rename).collect()).collect()
    }
}

fn is_token(scheme: &SecurityScheme) -> bool {
    match scheme {
        SecurityScheme::OAuth2 { .. } | SecurityScheme::OpenIdConnect { .. } => true,
        SecurityScheme::HttpAuth { bearer_format, .. } => bearer_format.is_some(),
        SecurityScheme::ApiKey { .. } | SecurityScheme::MutualTls { .. } => false,
    }
}

fn add_scopes(listed: &mut Vec<String>, scopes: &[String]) {
    for scope in scopes {
        if !listed.contains(scope) {
            listed.push(scope.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Security {
        let name = name.to_owned();
        Security::of(
            "key",
            SecurityScheme::ApiKey { description: None, location: name.clone(), name },
        )
    }

    fn certificate() -> Security {
        Security::of("certificate", SecurityScheme::MutualTls { description: None })
    }

    fn token() -> Security {
        let url = "https://login.example".to_owned();
        Security::of("token", SecurityScheme::OpenIdConnect { description: None, url })
    }

    fn shown(security: &Security) -> String {
        serde_json::to_string(security.requirements()).unwrap_or_default()
    }

    #[test]
    fn alternatives_and_joint_schemes_combine() {
        let both = certificate().and(key("a").or(token()));
        assert_eq!(shown(&both), r#"[{"certificate":[],"key":[]},{"certificate":[],"token":[]}]"#);
        assert_eq!(shown(&key("a").or(key("a"))), r#"[{"key":[]}]"#, "the same scheme");
        let two = key("a").or(key("b"));
        assert_eq!(shown(&two), r#"[{"key":[]},{"key2":[]}]"#, "another scheme of this name");
        assert_eq!(two.schemes().len(), 2);
        assert_eq!(key("a").or(Security::default()), key("a"));
        assert_eq!(Security::default().and(key("a")), key("a"));
    }

    #[test]
    fn scopes_are_listed_at_the_tokens() {
        let scopes = ["read".to_owned()];
        let security = certificate().and(token()).or(key("a")).with_scopes(&scopes);
        assert_eq!(shown(&security), r#"[{"certificate":[],"token":["read"]},{"key":["read"]}]"#);
        let again = security.clone().with_scopes(&scopes);
        assert_eq!(again, security);
    }
}
