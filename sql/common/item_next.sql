-- When the first item is to be forgotten, or was. One row, null when there is none.
select min(i.expires_at) as at from items i where i.expires_at is not null
