-- One token that is active or paused. Zero rows: every token has ended.
select t.token from tokens t where t.status in ('active', 'paused') limit 1
