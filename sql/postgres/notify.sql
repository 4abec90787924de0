-- Tells whoever listens on the channel. It answers no rows that matter.
select pg_notify(:channel, :payload)
