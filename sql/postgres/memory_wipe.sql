-- Removes all that these tokens remember, because they ended. It answers no rows.
delete from memory m where m.token = any(:tokens::text[])
