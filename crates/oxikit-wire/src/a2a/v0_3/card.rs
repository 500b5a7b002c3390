//! Writing of cards and security schemes for version 0.3 alone.

use serde::{Serialize, Serializer};

use super::out::{Binding, Out};
use crate::a2a::AgentCard;
use crate::a2a::SecurityScheme;
use crate::a2a::card::CardForm;
use crate::a2a::security_out::{Scheme, SecurityForm};

impl Serialize for Out<'_, AgentCard> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let security = security_form(self.binding);
        CardForm { has_v0_3: true, has_v1_0: false, security }.write(self.value, serializer)
    }
}

/// That of the JSON-RPC binding is a security scheme of OpenAPI too.
impl Serialize for Out<'_, SecurityScheme> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Scheme(self.value, security_form(self.binding)).serialize(serializer)
    }
}

fn security_form(binding: Binding) -> SecurityForm {
    match binding {
        Binding::JsonRpc => SecurityForm::V0_3,
        Binding::Rest => SecurityForm::V0_3Proto,
    }
}
