//! Compiles and runs the examples of the READMEs as doc tests. The crates do not include their
//! READMEs themselves, because a published package must not need files outside of it.

#![cfg(doctest)]

#[doc = include_str!("../README.md")]
struct Repository;

#[doc = include_str!("../crates/oxikit/README.md")]
struct Oxikit;

#[doc = include_str!("../crates/oxikit-client/README.md")]
struct OxikitClient;

#[doc = include_str!("../crates/oxikit-core/README.md")]
struct OxikitCore;

#[doc = include_str!("../crates/oxikit-devtools/README.md")]
struct OxikitDevtools;

#[doc = include_str!("../crates/oxikit-dotprompt/README.md")]
struct OxikitDotprompt;

#[doc = include_str!("../crates/oxikit-macros/README.md")]
struct OxikitMacros;

#[doc = include_str!("../crates/oxikit-mcp/README.md")]
struct OxikitMcp;

#[doc = include_str!("../crates/oxikit-providers/README.md")]
struct OxikitProviders;

#[doc = include_str!("../crates/oxikit-serve/README.md")]
struct OxikitServe;

#[doc = include_str!("../crates/oxikit-sql/README.md")]
struct OxikitSql;

#[doc = include_str!("../crates/oxikit-telemetry/README.md")]
struct OxikitTelemetry;

#[doc = include_str!("../crates/oxikit-wire/README.md")]
struct OxikitWire;

#[doc = include_str!("../crates/oxikit-ai/README.md")]
struct OxikitAi;

#[doc = include_str!("../crates/oxikit-http/README.md")]
struct OxikitHttp;

#[doc = include_str!("../crates/oxikit-a2a-grpc/README.md")]
struct OxikitA2aGrpc;

#[doc = include_str!("../crates/oxikit-outgoing/README.md")]
struct OxikitOutgoing;

#[doc = include_str!("../crates/oxikit-reflection/README.md")]
struct OxikitReflection;

#[doc = include_str!("../crates/oxikit-sqlite/README.md")]
struct OxikitSqlite;

#[doc = include_str!("../crates/oxikit-evaluation/README.md")]
struct OxikitEvaluation;

#[doc = include_str!("../crates/oxikit-local/README.md")]
struct OxikitLocal;

#[doc = include_str!("../crates/oxikit-manager/README.md")]
struct OxikitManager;

#[doc = include_str!("../crates/oxikit-traces/README.md")]
struct OxikitTraces;

#[doc = include_str!("../crates/oxikit-cli/README.md")]
struct OxikitCli;

#[doc = include_str!("../crates/oxikit-prompts/README.md")]
struct OxikitPrompts;

#[doc = include_str!("../crates/oxikit-web/README.md")]
struct OxikitWeb;
