//! The formats of secrets: their prefixes, alphabets and lengths.
//!
//! Prefixes, alphabets and lengths are those that the providers document, as the rules of
//! gitleaks, detect-secrets and GitHub's secret scanning list them. Lengths are a little
//! shorter than documented where providers have changed them before: a secret that was cut
//! still reveals most of itself.

/// A kind of secret.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    /// The service that issues it, for readers of this table and for the tests.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests name it"))]
    pub(super) provider: &'static str,
    /// The text that the secret begins with.
    pub(super) mark: &'static str,
    /// The characters after the mark.
    pub(super) rest: Alphabet,
    /// Minimum number of characters after the mark; further ones are part of the secret.
    pub(super) length: usize,
}

/// Characters that a secret is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// Letters and digits.
    Alnum,
    /// Capital letters and digits.
    Upper,
    /// The same and `-`.
    UpperDash,
    /// Digits of base 16, all in one case or not.
    Hex,
    /// Letters, digits, `_` and `-`.
    Word,
    /// The same, `.` and `=`.
    Token,
    /// Letters, digits, `+`, `/`, `=`, and `_`, which joins two parts.
    Base64,
    /// The characters of the path of a URL.
    Url,
}

impl Alphabet {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::UpperDash => Self::Upper.has(byte) || byte == b'-',
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Token => Self::Word.has(byte) || matches!(byte, b'.' | b'='),
            Self::Base64 => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_')
            }
            Self::Url => Self::Token.has(byte) || matches!(byte, b'/' | b'@' | b'~'),
        }
    }
}

const fn format(
    provider: &'static str,
    mark: &'static str,
    rest: Alphabet,
    length: usize,
) -> Format {
    Format { provider, mark, rest, length }
}

use Alphabet::{Alnum, Base64, Hex, Token, Upper, UpperDash, Url, Word};

/// The known formats. A mark that is the prefix of another one comes after it, so that the longer
/// mark is tried first.
pub(super) const FORMATS: &[Format] = &[
    format("1Password", "A3-", UpperDash, 30),
    format("1Password service", "ops_eyJ", Base64, 100),
    format("Adobe", "p8e-", Alnum, 32),
    format("age", "AGE-SECRET-KEY-1", Upper, 58),
    format("Alibaba", "LTAI", Alnum, 20),
    format("Amazon Bedrock", "ABSK", Base64, 100),
    format("Amazon Bedrock short-lived", "bedrock-api-key-", Base64, 24),
    format("Artifactory", "AKCp", Alnum, 60),
    format("Artifactory reference", "cmVmd", Alnum, 59),
    format("Atlassian", "ATATT3", Token, 100),
    format("Atlassian access", "ATCTT3", Token, 100),
    format("AWS", "A3T", Upper, 17),
    format("AWS", "ABIA", Upper, 16),
    format("AWS", "ACCA", Upper, 16),
    format("AWS access key", "AKIA", Word, 10),
    format("AWS temporary", "ASIA", Word, 10),
    format("Bitbucket", "ATBB", Alnum, 28),
    format("Brevo", "xkeysib-", Word, 64),
    format("Buildkite", "bkua_", Hex, 40),
    format("CircleCI", "CCIPAT_", Word, 40),
    format("ClickHouse", "4b1d", Alnum, 38),
    format("Clojars", "CLOJARS_", Alnum, 60),
    format("Cloudflare origin", "v1.0-", Word, 150),
    format("Contentful", "CFPAT-", Word, 40),
    format("Databricks", "dapi", Hex, 32),
    format("Defined Networking", "dnkey-", Token, 70),
    format("DigitalOcean", "dop_v1_", Hex, 64),
    format("DigitalOcean OAuth", "doo_v1_", Hex, 64),
    format("DigitalOcean refresh", "dor_v1_", Hex, 64),
    format("Discord webhook", "discord.com/api/webhooks/", Url, 60),
    format("Discord webhook", "discordapp.com/api/webhooks/", Url, 60),
    format("Doppler", "dp.pt.", Alnum, 40),
    format("Dropbox", "sl.", Token, 130),
    format("Duffel", "duffel_live_", Token, 40),
    format("Duffel test", "duffel_test_", Token, 40),
    format("Dynatrace", "dt0c01.", Token, 80),
    format("EasyPost", "EZAK", Alnum, 54),
    format("EasyPost test", "EZTK", Alnum, 54),
    format("Facebook page", "EAAC", Alnum, 100),
    format("Facebook page", "EAAM", Alnum, 100),
    format("Figma", "figd_", Word, 40),
    format("Flutterwave", "FLWSECK-", Word, 12),
    format("Flutterwave public", "FLWPUBK_TEST-", Word, 32),
    format("Flutterwave test", "FLWSECK_TEST-", Word, 12),
    format("Fly.io", "fo1_", Word, 43),
    format("Fly.io", "fm1a_", Base64, 100),
    format("Fly.io", "fm1r_", Base64, 100),
    format("Fly.io", "fm2_", Base64, 100),
    format("Frame.io", "fio-u-", Token, 60),
    format("GitHub fine-grained", "github_pat_", Word, 10),
    format("GitHub OAuth", "gho_", Word, 10),
    format("GitHub personal", "ghp_", Word, 10),
    format("GitHub refresh", "ghr_", Word, 10),
    format("GitHub server", "ghs_", Word, 10),
    format("GitHub user", "ghu_", Word, 10),
    format("GitLab agent", "glagent-", Word, 20),
    format("GitLab deploy", "gldt-", Word, 20),
    format("GitLab feature flags", "glffct-", Word, 20),
    format("GitLab feed", "glft-", Word, 20),
    format("GitLab job", "glcbt-", Word, 20),
    format("GitLab mail", "glimt-", Word, 20),
    format("GitLab OAuth", "gloas-", Word, 20),
    format("GitLab personal", "glpat-", Token, 20),
    format("GitLab runner", "glrt-", Token, 20),
    format("GitLab runner registration", "GR1348941", Word, 20),
    format("GitLab SCIM", "glsoat-", Word, 20),
    format("GitLab session", "_gitlab_session=", Alnum, 32),
    format("GitLab trigger", "glptt-", Word, 20),
    format("GoCardless", "live_", Token, 40),
    format("Google access", "ya29.", Word, 30),
    format("Google API", "AIza", Word, 10),
    format("Google OAuth", "GOCSPX-", Word, 24),
    format("Google refresh", "1//0", Word, 40),
    format("Grafana", "glsa_", Word, 40),
    format("Grafana Cloud", "glc_", Base64, 32),
    format("Groq", "gsk_", Alnum, 40),
    format("Harness", "pat.", Token, 68),
    format("Harness service", "sat.", Token, 68),
    format("Heroku", "HRKU-", Word, 36),
    format("Hugging Face", "hf_", Alnum, 30),
    format("Hugging Face organisation", "api_org_", Alnum, 30),
    format("Infracost", "ico-", Alnum, 32),
    format("Intra42", "s-s4t2ud-", Hex, 64),
    format("Intra42", "s-s4t2af-", Hex, 64),
    format("LangSmith", "lsv2_pt_", Word, 32),
    format("LangSmith", "lsv2_sk_", Word, 32),
    format("Linear", "lin_api_", Alnum, 40),
    format("Lob", "test_", Hex, 35),
    format("Mailgun", "key-", Hex, 32),
    format("Mailgun public", "pubkey-", Hex, 32),
    format("Mapbox", "pk.eyJ", Token, 60),
    format("Mapbox secret", "sk.eyJ", Token, 60),
    format("Mapbox temporary", "tk.eyJ", Token, 60),
    format("Neon", "napi_", Alnum, 60),
    format("New Relic", "NRAK-", Alnum, 27),
    format("New Relic browser", "NRJS-", Hex, 19),
    format("New Relic insert", "NRII-", Word, 32),
    format("Notion", "ntn_", Alnum, 40),
    format("Notion before 2024", "secret_", Alnum, 43),
    format("npm", "npm_", Alnum, 30),
    format("Octopus Deploy", "API-", Upper, 26),
    format("OpenShift", "sha256~", Word, 43),
    format("Perplexity", "pplx-", Alnum, 40),
    format("Pinecone", "pcsk_", Word, 40),
    format("Plaid", "access-sandbox-", Word, 36),
    format("Plaid", "access-development-", Word, 36),
    format("Plaid", "access-production-", Word, 36),
    format("PlanetScale", "pscale_tkn_", Token, 32),
    format("PlanetScale OAuth", "pscale_oauth_", Token, 32),
    format("PlanetScale password", "pscale_pw_", Token, 32),
    format("PostHog", "phx_", Alnum, 40),
    format("Postman", "PMAK-", Word, 55),
    format("Prefect", "pnu_", Alnum, 36),
    format("Pulumi", "pul-", Hex, 40),
    format("PyPI", "pypi-", Word, 50),
    format("ReadMe", "rdme_", Alnum, 70),
    format("Replicate", "r8_", Alnum, 30),
    format("Resend", "re_", Word, 30),
    format("RubyGems", "rubygems_", Hex, 48),
    format("Scalingo", "tk-us-", Word, 48),
    format("SendGrid", "SG.", Token, 60),
    format("Sentry organisation", "sntrys_", Base64, 60),
    format("Sentry user", "sntryu_", Hex, 64),
    format("SettleMint", "sm_aat_", Alnum, 16),
    format("SettleMint", "sm_pat_", Alnum, 16),
    format("SettleMint", "sm_sat_", Alnum, 16),
    format("Shippo", "shippo_live_", Hex, 40),
    format("Shippo test", "shippo_test_", Hex, 40),
    format("Shopify", "shpat_", Hex, 32),
    format("Shopify custom", "shpca_", Hex, 32),
    format("Shopify private", "shppa_", Hex, 32),
    format("Shopify shared", "shpss_", Hex, 32),
    format("Slack app", "xapp-", Word, 20),
    format("Slack bot", "xoxb-", Word, 10),
    format("Slack configuration", "xoxe.", Token, 20),
    format("Slack legacy", "xoxo-", Word, 20),
    format("Slack refresh", "xoxe-", Word, 20),
    format("Slack session", "xoxs-", Word, 10),
    format("Slack trigger", "hooks.slack.com/triggers/", Base64, 40),
    format("Slack user", "xoxp-", Word, 10),
    format("Slack webhook", "hooks.slack.com/services/", Base64, 40),
    format("Slack workflow", "hooks.slack.com/workflows/", Base64, 40),
    format("Slack workspace", "xoxa-", Word, 10),
    format("Slack workspace refresh", "xoxr-", Word, 10),
    format("Sourcegraph", "sgp_", Word, 40),
    format("Square", "sq0atp-", Word, 22),
    format("Square OAuth", "sq0csp-", Word, 40),
    format("Stripe", "sk_live_", Alnum, 10),
    format("Stripe restricted", "rk_live_", Alnum, 10),
    format("Stripe restricted sandbox", "rk_prod_", Alnum, 10),
    format("Stripe restricted test", "rk_test_", Alnum, 10),
    format("Stripe sandbox", "sk_prod_", Alnum, 10),
    format("Stripe test", "sk_test_", Alnum, 10),
    format("ElevenLabs", "sk_", Hex, 40),
    format("Stripe webhook", "whsec_", Base64, 24),
    format("Supabase", "sbp_", Hex, 40),
    format("Supabase secret", "sb_secret_", Word, 20),
    format("Tailscale", "tskey-", Word, 20),
    format("Tavily", "tvly-", Word, 20),
    format("Teams webhook", "webhook.office.com/webhookb2/", Url, 80),
    format("Twilio", "SK", Hex, 32),
    format("Typeform", "tfp_", Token, 40),
    format("Vault", "hvs.", Word, 24),
    format("Vault batch", "hvb.", Word, 24),
    format("xAI", "xai-", Alnum, 40),
    format("Yandex", "AQVN", Word, 35),
    format("Yandex IAM", "t1.", Token, 90),
];
