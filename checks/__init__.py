"""What can go wrong and how it is recognised: one file per problem, named after it."""
